"""What whoever runs the service deals with: settings, logs, metrics, backup."""
