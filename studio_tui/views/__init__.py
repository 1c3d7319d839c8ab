"""What a pane shows, as plain values: pure functions from records to frozen views, tested without a screen."""
