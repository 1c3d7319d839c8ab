"""The widgets of the Studio: each draws one view."""
