"""What the model is told beside the conversation, as small bounded fragments."""
