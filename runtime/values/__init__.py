"""The nouns that everybody may import: frozen values, and the JSON they are written as."""
