"""Language, speech and other networks of transformers and PyTorch, of two layers and seeded weights."""

import torch
import transformers as hf
from torch import nn

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
WORDS = dict(SMALL, vocab_size=200)
VISION = dict(SMALL, image_size=64)


class Answer(nn.Module):
    """One tensor out of what a model of transformers answers."""

    def __init__(self, model, names, answer):
        super().__init__()
        self.model, self.names, self.answer = model, names, answer

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), return_dict=True)[self.answer]


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8)
        self.down, self.up = nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ConvTranspose2d(16, 8, 2, 2)
        self.leave = nn.Conv2d(16, 2, 1)

    def forward(self, image):
        shallow = nn.functional.silu(self.norm(self.enter(image)))
        deep = self.up(nn.functional.mish(self.down(shallow)))
        both = self.leave(torch.cat([deep, shallow], 1))
        return nn.functional.interpolate(both, scale_factor=2, mode="bilinear")


class Recurrent(nn.Module):
    def __init__(self, cell, **options):
        super().__init__()
        self.cell = cell(20, 32, batch_first=True, **options)
        self.leave = nn.Linear(64 if options.get("bidirectional") else 32, 5)

    def forward(self, steps):
        return self.leave(self.cell(steps)[0][:, -1])


def words():
    return torch.randint(3, 100, (1, 16), generator=torch.Generator().manual_seed(1))


def numbers(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(2))


def of_words(model, masked=False):
    names = ("input_ids", "attention_mask") if masked else ("input_ids",)
    inputs = (words(), torch.ones(1, 16, dtype=torch.int64)) if masked else (words(),)
    return Answer(model, names, "last_hidden_state"), inputs, names


def of(model, name, value, answer="last_hidden_state"):
    return Answer(model, (name,), answer), (value,), (name,)


def llama(config, model):
    return of_words(model(config(**WORDS, num_key_value_heads=2, max_position_embeddings=64, use_cache=False)))


MODELS = {
    "bert": lambda: of_words(hf.BertModel(hf.BertConfig(**WORDS)), masked=True),
    "distilbert": lambda: of_words(
        hf.DistilBertModel(hf.DistilBertConfig(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=200)),
        masked=True,
    ),
    "roberta": lambda: of_words(
        hf.RobertaModel(hf.RobertaConfig(**WORDS, max_position_embeddings=64)), masked=True
    ),
    "gpt2": lambda: of_words(
        hf.GPT2Model(hf.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=200, use_cache=False))
    ),
    "llama": lambda: llama(hf.LlamaConfig, hf.LlamaModel),
    "qwen2": lambda: llama(hf.Qwen2Config, hf.Qwen2Model),
    "clip_text": lambda: of_words(
        hf.CLIPTextModel(hf.CLIPTextConfig(**WORDS, max_position_embeddings=32, eos_token_id=2))
    ),
    "clip_vision": lambda: of(
        hf.CLIPVisionModel(hf.CLIPVisionConfig(**VISION, patch_size=16)), "pixel_values", numbers(1, 3, 64, 64)
    ),
    "vit": lambda: of(hf.ViTModel(hf.ViTConfig(**VISION)), "pixel_values", numbers(1, 3, 64, 64)),
    "yolos": lambda: of(
        hf.YolosForObjectDetection(
            hf.YolosConfig(**dict(SMALL, image_size=[64, 64]), num_detection_tokens=10)
        ),
        "pixel_values",
        numbers(1, 3, 64, 64),
        "logits",
    ),
    "segformer": lambda: of(
        hf.SegformerForSemanticSegmentation(
            hf.SegformerConfig(
                hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1], decoder_hidden_size=64, num_labels=10
            )
        ),
        "pixel_values",
        numbers(1, 3, 128, 128),
        "logits",
    ),
    "wav2vec2": lambda: of(
        hf.Wav2Vec2Model(
            hf.Wav2Vec2Config(
                **WORDS,
                conv_dim=(32,) * 3,
                conv_stride=(5, 2, 2),
                conv_kernel=(10, 3, 3),
                num_feat_extract_layers=3,
                num_conv_pos_embeddings=16,
                num_conv_pos_embedding_groups=4,
            )
        ),
        "input_values",
        numbers(1, 1600),
    ),
    "unet": lambda: (UNet(), (numbers(1, 3, 64, 64),), ("image",)),
    "lstm": lambda: (Recurrent(nn.LSTM, bidirectional=True), (numbers(1, 10, 20),), ("steps",)),
    "gru": lambda: (Recurrent(nn.GRU), (numbers(1, 10, 20),), ("steps",)),
}
