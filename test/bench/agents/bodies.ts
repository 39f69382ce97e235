/** Request bodies as coding agents send them: a system prompt, tools with schemas and a history
 *  full of quoted source code; and one with an image. */

/** Name of a size, and of the body that has it. */
export const AGENT_SIZES = ['60 KB', '220 KB', '1 MB'] as const
export type AgentSize = (typeof AGENT_SIZES)[number]

/** Source code of `length` characters, with quotes, line ends and letters beyond ASCII. */
const sourceCode = (length: number, seed: number): string => {
  let text = ''
  for (let state = seed; text.length < length; ) {
    state = (state * 48_271) % 2_147_483_647
    text += `\tconst item${state % 997} = await readFile("src/part-${state % 53}.ts", 'utf8')\n`
    text += `\tif (!item) throw new Error(\`not found: "${state % 31}"\`) // café 漢字 ${state}\n`
  }
  return text.slice(0, length)
}
const toolNamed = (index: number): object => ({
  type: 'function',
  function: {
    name: `tool_${index}`,
    description: sourceCode(700, index + 3),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 8 }, (_, at) => [
          `argument${at}`,
          { type: 'string', description: sourceCode(110, index * 9 + at + 1) },
        ]),
      ),
      required: ['argument0'],
      additionalProperties: false,
    },
  },
})
/** A question, a call and its result in turn. `length`: characters of a result. */
const turn = (index: number, length: number, tools: number): object => {
  if (index % 3 === 0)
    return {
      role: 'user',
      content: [{ type: 'text', text: sourceCode(Math.floor(length / 3), index + 11) }],
    }
  if (index % 3 === 2)
    return { role: 'tool', tool_call_id: `call_${index - 1}`, content: sourceCode(length, index) }
  const text = JSON.stringify({ argument0: `src/part-${index}.ts`, argument1: 'all' })
  const call = { name: `tool_${index % tools}`, arguments: text }
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${index}`, type: 'function', function: call }],
  }
}
const conversation = (turns: number, length: number, tools: number): object => ({
  messages: [
    { role: 'system', content: sourceCode(9_000, 7) },
    ...Array.from({ length: turns }, (_, index) => turn(index, length, tools)),
  ],
  tools: Array.from({ length: tools }, (_, index) => toolNamed(index)),
  tool_choice: 'auto',
})
/** Bytes of an image file, no two alike. */
const image = (bytes: number): string => {
  const file = Buffer.alloc(bytes)
  for (let at = 0, state = 1; at < bytes; at++) {
    state = (state * 48_271) % 2_147_483_647
    file[at] = state >> 8
  }
  return `data:image/png;base64,${file.toString('base64')}`
}
const CONTENTS: Readonly<Record<AgentSize, () => object>> = {
  '60 KB': () => conversation(12, 2_500, 12),
  '220 KB': () => conversation(60, 3_600, 40),
  '1 MB': () => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is in this image?' },
          { type: 'image_url', image_url: { url: image(786_000) } },
        ],
      },
    ],
  }),
}

/** The body as text, with the model's name first. */
export const agentBody = (size: AgentSize, model: string, stream: boolean): string =>
  JSON.stringify({
    model,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    max_tokens: 512,
    ...CONTENTS[size](),
  })
