"""The database: its tables and migrations, and what is kept in it."""
