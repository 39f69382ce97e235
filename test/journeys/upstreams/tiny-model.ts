/** A language model of one layer with random weights, in the GGUF format that llama.cpp reads. It
 *  answers with letters. */
import { writeFileSync } from 'node:fs'
import { createChance } from '../../helpers/run-settings.ts'

/** Tokens that the model was made for. */
const MODEL_CONTEXT = 4096
/** Numbers of its vectors, and rows of its feed-forward network. */
const WIDTH = 64
const HEADS = 2
/** Calls of tools look as in Hermes. */
const TEMPLATE = `
{%- if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>{% endif %}
{%- for message in messages %}{{ '<|' + message.role + '|>' }}
{%- if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{ '}\\n</tool_call>' }}
{%- endfor %}{{ '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}`.trimStart()

/** Of a token in the vocabulary of SentencePiece. */
const KINDS = { normal: 1, unknown: 2, control: 3, byte: 6 } as const
const LETTERS = [...'▁abcdefghijklmnopqrstuvwxyz']
const TOKENS: readonly (readonly [text: string, kind: keyof typeof KINDS])[] = [
  ['<unk>', 'unknown'],
  ['<s>', 'control'],
  ['</s>', 'control'],
  ...Array.from({ length: 256 }, (_, byte): [string, 'byte'] => [
    `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    'byte',
  ]),
  ...LETTERS.map((letter): [string, 'normal'] => [letter, 'normal']),
]

// ---------------------------------------------------------------- values

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
const floats = (...values: readonly number[]): Buffer =>
  Buffer.from(Float32Array.from(values).buffer)
const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([u64(bytes.length), bytes])
}
/** The numbers of types in GGUF. */
const TYPES = { u32: 4, i32: 5, f32: 6, text: 8, list: 9 } as const
const listOf = (type: keyof typeof TYPES, values: readonly Buffer[]): Buffer =>
  Buffer.concat([u32(TYPES[type]), u64(values.length), ...values])

const FACTS: Readonly<Record<string, readonly [type: keyof typeof TYPES, value: Buffer]>> = {
  'general.architecture': ['text', text('llama')],
  'general.name': ['text', text('tiny')],
  'llama.context_length': ['u32', u32(MODEL_CONTEXT)],
  'llama.embedding_length': ['u32', u32(WIDTH)],
  'llama.block_count': ['u32', u32(1)],
  'llama.feed_forward_length': ['u32', u32(WIDTH)],
  'llama.attention.head_count': ['u32', u32(HEADS)],
  'llama.attention.head_count_kv': ['u32', u32(HEADS)],
  'llama.attention.layer_norm_rms_epsilon': ['f32', floats(1e-5)],
  'llama.rope.dimension_count': ['u32', u32(WIDTH / HEADS)],
  'llama.vocab_size': ['u32', u32(TOKENS.length)],
  'tokenizer.ggml.model': ['text', text('llama')],
  'tokenizer.ggml.tokens': [
    'list',
    listOf(
      'text',
      TOKENS.map(([token]) => text(token)),
    ),
  ],
  'tokenizer.ggml.scores': [
    'list',
    listOf(
      'f32',
      TOKENS.map(() => floats(0)),
    ),
  ],
  'tokenizer.ggml.token_type': [
    'list',
    listOf(
      'i32',
      TOKENS.map(([, kind]) => u32(KINDS[kind])),
    ),
  ],
  'tokenizer.ggml.bos_token_id': ['u32', u32(1)],
  'tokenizer.ggml.eos_token_id': ['u32', u32(2)],
  'tokenizer.ggml.unknown_token_id': ['u32', u32(0)],
  'tokenizer.chat_template': ['text', text(TEMPLATE)],
}

// ---------------------------------------------------------------- weights

interface Tensor {
  readonly name: string
  readonly shape: readonly number[]
  /** `row`: the index of the number divided by the width. */
  at(row: number): number
}
const tensors = (): readonly Tensor[] => {
  const chance = createChance(1)
  const random = (): number => chance() * 2 - 1
  const square = (name: string): Tensor => ({
    name: `blk.0.${name}.weight`,
    shape: [WIDTH, WIDTH],
    at: () => random() / 8,
  })
  const norm = (name: string): Tensor => ({ name: `${name}.weight`, shape: [WIDTH], at: () => 1 })
  const words = (name: string, at: Tensor['at']): Tensor => ({
    name: `${name}.weight`,
    shape: [WIDTH, TOKENS.length],
    at,
  })
  return [
    words('token_embd', random),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map(square),
    ...['blk.0.attn_norm', 'blk.0.ffn_norm', 'output_norm'].map(norm),
    // It prefers letters to all other tokens.
    words('output', row => (TOKENS[row]?.[1] === 'normal' ? random() : 0)),
  ]
}

const MAGIC = 'GGUF'
const VERSION = 3
const ALIGNMENT = 32
const padding = (length: number): Buffer =>
  Buffer.alloc((ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT)

/** Writes the model to this file: 0.2 MB. */
export const writeTinyModel = (file: string): void => {
  const all = tensors()
  const head = [Buffer.from(MAGIC), u32(VERSION), u64(all.length), u64(Object.keys(FACTS).length)]
  for (const [name, [type, value]] of Object.entries(FACTS))
    head.push(text(name), u32(TYPES[type]), value)
  const weights: Buffer[] = []
  let offset = 0
  for (const { name, shape, at } of all) {
    const numbers = shape.reduce((product, each) => product * each, 1)
    // 0: numbers of 32 bits.
    head.push(text(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset))
    weights.push(
      floats(...Array.from({ length: numbers }, (_, index) => at(Math.floor(index / WIDTH)))),
    )
    offset += numbers * 4
  }
  const facts = Buffer.concat(head)
  writeFileSync(file, Buffer.concat([facts, padding(facts.length), ...weights]))
}
