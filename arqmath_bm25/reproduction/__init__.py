"""Results that anyone can make again: what they are expected to be, and how they are made."""
