"""Language models as judges: their rubrics, what they are sent, what their replies mean."""
