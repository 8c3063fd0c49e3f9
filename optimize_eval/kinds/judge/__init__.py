"""Language models as judges: what they are asked for, what they are sent, what their replies mean."""
