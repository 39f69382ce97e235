/** Custom tools, which take free text: their grammars, and functions in their place. */
import { chatAnswer, chatStream } from './chat-answers.ts'
import type { Body, RequestCase } from './request-case.ts'

const PATCH = '*** Begin Patch\n*** "End" Patch'
const grammar = { syntax: 'lark', definition: 'start: "a" /.+/s' }
const responsesTool = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edit with apply_patch',
  format: { type: 'grammar', ...grammar },
}
const chatTool = {
  type: 'custom',
  custom: { name: 'apply_patch', format: { type: 'grammar', grammar } },
}
const responses = { input: 'q', store: false, tools: [responsesTool] }
const chat = { messages: [{ role: 'user', content: 'q' }], tools: [chatTool] }

const functionOf = (input: string): object => ({ name: 'apply_patch', arguments: input })
const callOf = (input: string): object => ({
  id: 'c1',
  type: 'function',
  function: functionOf(input),
})
const plainAnswer = (input: string): object =>
  chatAnswer({ content: null, tool_calls: [callOf(input)] }, 'tool_calls')
const streamAnswer = (input: string): readonly object[] =>
  chatStream(
    [
      { tool_calls: [{ index: 0, ...callOf('') }] },
      ...[input.slice(0, 12), input.slice(12)].map(text => ({
        tool_calls: [{ index: 0, function: { arguments: text } }],
      })),
    ],
    'tool_calls',
  )
const geminiAnswer = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [{ functionCall: { name: 'apply_patch', args: { input: PATCH } } }],
      },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
}
const messageAnswer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'tool_use', id: 'c1', name: 'apply_patch', input: { input: PATCH } }],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
}
/** The inputs of the calls of custom tools that a client of Responses or chat got. */
const customInputs = ({ out, events }: { out: Body; events: readonly Body[] }): readonly Body[] => {
  if (out)
    return [...(out.output ?? []), ...(out.choices?.[0].message.tool_calls ?? [])].map(
      (call: Body) => (call.type === 'custom_tool_call' ? call.input : call.custom?.input),
    )
  const last = events.at(-1)
  if (last?.response)
    return last.response.output.map((item: Body) => item.type === 'custom_tool_call' && item.input)
  const deltas = events.flatMap(event => event.choices?.[0]?.delta.tool_calls ?? [])
  return [deltas.map((call: Body) => call.custom?.input ?? '').join('')]
}
const isPatch: RequestCase['check'] = outcome =>
  JSON.stringify(customInputs(outcome)) === JSON.stringify([PATCH])

const ARGUMENTS = JSON.stringify({ input: PATCH })
const ANSWERS: readonly (readonly [name: string, model: string, answer: object])[] = [
  ['from chat, plain', 'plain-chat', plainAnswer(ARGUMENTS)],
  ['from chat, streamed', 'plain-chat', streamAnswer(ARGUMENTS)],
  [
    'from chat, another name of the argument',
    'plain-chat',
    plainAnswer(JSON.stringify({ patch: PATCH })),
  ],
  ['from chat, no JSON', 'plain-chat', plainAnswer(PATCH)],
  ['from chat without custom tools, streamed', 'magistral', streamAnswer(ARGUMENTS)],
  ['from Gemini, plain', 'gx25', geminiAnswer],
  ['from Gemini, streamed', 'gx3', [geminiAnswer]],
  ['from Claude', 'cl45', messageAnswer],
]
const CLIENTS = [
  ['openai-responses', responses],
  ['openai-chat', chat],
] as const

/** A tool that is a function with one text, with its own name and the grammar in words. */
const OFFERED: readonly (readonly [model: string, tool: (up: Body) => Body])[] = [
  [
    'magistral',
    up => ({
      name: up.tools[0].function.name,
      text: up.tools[0].function.description,
      schema: up.tools[0].function.parameters,
    }),
  ],
  [
    'gx25',
    up => ({
      name: up.tools[0].functionDeclarations[0].name,
      text: up.tools[0].functionDeclarations[0].description,
      schema: up.tools[0].functionDeclarations[0].parametersJsonSchema,
    }),
  ],
  [
    'cl45',
    up => ({
      name: up.tools[0].name,
      text: up.tools[0].description,
      schema: up.tools[0].input_schema,
    }),
  ],
  [
    'b-claude',
    up => ({
      name: up.toolConfig.tools[0].toolSpec.name,
      text: up.toolConfig.tools[0].toolSpec.description,
      schema: up.toolConfig.tools[0].toolSpec.inputSchema.json,
    }),
  ],
]
const history = {
  store: false,
  input: [
    { role: 'user', content: 'q' },
    { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: PATCH },
    { type: 'custom_tool_call_output', call_id: 'c1', output: 'done' },
  ],
  tools: [responsesTool],
}

export const cases: readonly RequestCase[] = [
  ...CLIENTS.flatMap(([client, request]) =>
    // A target of the client's format that takes custom tools answers as it does.
    ANSWERS.filter(([, model]) => client === 'openai-responses' || model !== 'plain-chat').map(
      ([name, model, answer]): RequestCase => ({
        name: `a function call to a custom tool is a custom call ${name}: ${client}`,
        client,
        model,
        ...(Array.isArray(answer) && { stream: true }),
        request,
        answer,
        check: isPatch,
      }),
    ),
  ),
  ...CLIENTS.flatMap(([client, request]) =>
    OFFERED.map(
      ([model, toolIn]): RequestCase => ({
        name: `a function in place of a custom tool: ${client} to ${model}`,
        client,
        model,
        request,
        check: ({ up, dropped }) => {
          const { name, text, schema } = toolIn(up)
          return (
            name === 'apply_patch' &&
            text.includes(grammar.definition) &&
            schema.properties.input.type === 'string' &&
            !/format|tools/.test(dropped)
          )
        },
      }),
    ),
  ),
  ...(['magistral', 'cl45', 'gx25', 'b-claude', 'plain-chat'] as const).map(
    (model): RequestCase => ({
      name: `earlier custom calls and their results: ${model}`,
      client: 'openai-responses',
      model,
      request: history,
      check: ({ upText }) =>
        /Begin Patch/.test(upText) && /done/.test(upText) && !/tollgate_text/.test(upText),
    }),
  ),
  {
    name: 'a choice of a custom tool is one of its function',
    client: 'openai-chat',
    model: 'magistral',
    request: { ...chat, tool_choice: { type: 'custom', custom: { name: 'apply_patch' } } },
    check: ({ up }) => up.tool_choice.function.name === 'apply_patch',
  },
  {
    name: 'a custom tool without a grammar stays unchanged',
    client: 'openai-responses',
    model: 'plain-chat',
    request: { ...responses, tools: [{ ...responsesTool, format: { type: 'text' } }] },
    check: ({ up }) =>
      up.tools[0].custom.format.type === 'text' && !up.tools[0].custom.format.grammar,
  },
]
