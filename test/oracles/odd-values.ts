/** Requests with values at and beyond the bounds of providers, each in every client format:
 *  numbers, texts, words of effort, names, tools, and turns without content. */
import type { LooseObject } from '../helpers/formats/loose-json.ts'
import type { Client, ClientRequest } from './cells.ts'

const NUMBERS = [0, -1, 0.5, 1.5, 3, 21, 2 ** 31, 2 ** 40, 1e20, -1e20, 1e300]
const TEXTS = ['', ' ', '\n', '\u200b', 'é😀', 'x'.repeat(65), 'x'.repeat(600)]
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const ARGUMENTS = ['', ' ', '[1]', '"x"', 'null', '7', '{"a":', '{}{}', 'no JSON']
const NAMES = ['a.b', 'a b', 'x'.repeat(100), 'é', '1a', 'mcp__srv__do-it', '-', '/']
const SCHEMAS: readonly LooseObject[] = [
  {},
  { type: 'string' },
  { type: ['object', 'null'] },
  { anyOf: [{ type: 'object' }] },
  { type: 'object', properties: { a: { type: 'array' } }, required: ['b', 'b'] },
  { type: 'object', properties: { 'a b': {}, é: { enum: [1, 'a', null] }, c: { const: 1 } } },
  { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: {} } } },
]

interface Form {
  /** Members that take a number, as paths. */
  readonly numbers: readonly string[]
  readonly stops?: string
  readonly user?: readonly string[]
  readonly effort: string
  ask(text: string): LooseObject
  system(text: string): LooseObject
  call(text: string): LooseObject
  tool(name: string, parameters: LooseObject): LooseObject
  /** Members of every request. */
  readonly base: LooseObject
}
const say = (content: unknown) => ({ role: 'user', content })
const FORMS: Readonly<Record<Client, Form>> = {
  'openai-chat': {
    numbers: [
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'n',
      'seed',
      'top_logprobs',
      'frequency_penalty',
      'presence_penalty',
    ],
    stops: 'stop',
    user: ['user', 'safety_identifier', 'prompt_cache_key'],
    effort: 'reasoning_effort',
    ask: text => ({ messages: [say(text)] }),
    system: text => ({ messages: [{ role: 'system', content: text }] }),
    call: text => ({
      messages: [
        say('hi'),
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'ok' },
      ],
    }),
    tool: (name, parameters) => ({ type: 'function', function: { name, parameters } }),
    base: {},
  },
  'openai-responses': {
    numbers: ['max_output_tokens', 'temperature', 'top_p', 'top_logprobs'],
    user: ['user', 'safety_identifier', 'prompt_cache_key'],
    effort: 'reasoning.effort',
    ask: text => ({ input: text }),
    system: text => ({ instructions: text, input: [] }),
    call: text => ({
      input: [
        say('hi'),
        { type: 'function_call', call_id: 'a', name: 'f', arguments: text },
        { type: 'function_call_output', call_id: 'a', output: 'ok' },
      ],
    }),
    tool: (name, parameters) => ({ type: 'function', name, parameters, strict: false }),
    base: {},
  },
  'anthropic-messages': {
    numbers: ['max_tokens', 'temperature', 'top_p', 'top_k'],
    stops: 'stop_sequences',
    user: ['metadata.user_id'],
    effort: 'output_config.effort',
    ask: text => ({ messages: [say(text)] }),
    system: text => ({ system: text, messages: [] }),
    call: text => ({
      messages: [
        say('hi'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: { text } }] },
        say([{ type: 'tool_result', tool_use_id: 'a', content: text }]),
      ],
    }),
    tool: (name, schema) => ({ name, input_schema: { type: 'object', ...schema } }),
    base: { max_tokens: 100 },
  },
  'google-gemini': {
    numbers: [
      'maxOutputTokens',
      'temperature',
      'topP',
      'topK',
      'seed',
      'candidateCount',
      'logprobs',
      'frequencyPenalty',
      'presencePenalty',
      'thinkingConfig.thinkingBudget',
    ].map(name => `generationConfig.${name}`),
    stops: 'generationConfig.stopSequences',
    effort: 'generationConfig.thinkingConfig.thinkingLevel',
    ask: text => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
    system: text => ({ systemInstruction: { parts: [{ text }] }, contents: [] }),
    call: text => ({
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts: [{ functionCall: { name: 'f', args: { text } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { text } } }] },
      ],
    }),
    tool: (name, parameters) => ({
      functionDeclarations: [{ name, parametersJsonSchema: parameters }],
    }),
    base: {},
  },
  'google-interactions': {
    numbers: ['max_output_tokens', 'temperature', 'top_p', 'seed'].map(
      name => `generation_config.${name}`,
    ),
    stops: 'generation_config.stop_sequences',
    effort: 'generation_config.thinking_level',
    ask: text => ({ input: text }),
    system: text => ({ system_instruction: text, input: [] }),
    call: text => ({
      input: [
        { type: 'user_input', content: [{ type: 'text', text: 'hi' }] },
        { type: 'function_call', id: 'a', name: 'f', arguments: { text } },
        { type: 'function_result', call_id: 'a', name: 'f', result: text },
      ],
    }),
    tool: (name, parameters) => ({ type: 'function', name, parameters }),
    base: {},
  },
}
/** `{a: {b: value}}` for `a.b`. */
const at = (path: string, value: unknown): LooseObject =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as LooseObject

export const oddValues = (client: Client): readonly ClientRequest[] => {
  const { ask, base, call, effort, numbers, stops, system, tool, user = [] } = FORMS[client]
  const PLAIN = { type: 'object', properties: {} }
  const bodies: (readonly [string, LooseObject])[] = [
    ...numbers.flatMap(path =>
      NUMBERS.map(value => [`${path} ${value}`, at(path, value)] as const),
    ),
    ...user.flatMap(path => TEXTS.map(text => [`${path} ${text}`, at(path, text)] as const)),
    ...(client === 'anthropic-messages' ? NUMBERS : []).map(
      budget =>
        [`budget ${budget}`, { thinking: { type: 'enabled', budget_tokens: budget } }] as const,
    ),
    ...EFFORTS.map(
      word =>
        [
          `effort ${word}`,
          at(effort, client === 'google-gemini' ? word.toUpperCase() : word),
        ] as const,
    ),
    ...NAMES.map(name => [`tool ${name}`, { tools: [tool(name, PLAIN)] }] as const),
    ...SCHEMAS.map(
      schema => [`schema ${JSON.stringify(schema)}`, { tools: [tool('f', schema)] }] as const,
    ),
    ['200 tools', { tools: Array.from({ length: 200 }, (_, index) => tool(`f${index}`, PLAIN)) }],
    ...TEXTS.map(text => [`ask ${text}`, ask(text)] as const),
    ...TEXTS.map(text => [`system ${text}`, system(text)] as const),
    ...ARGUMENTS.map(
      text => [`call ${text}`, { ...call(text), tools: [tool('f', PLAIN)] }] as const,
    ),
    ...(stops === undefined
      ? []
      : [[''], ['', 'a'], [' '], Array.from('abcdef'), ['a', 'a']].map(
          texts => [`stops ${texts}`, at(stops, texts)] as const,
        )),
  ]
  return bodies.map(([name, body]) => ({
    client,
    name: `${client} ${name.slice(0, 60)}`,
    body: { ...base, ...ask('hi'), ...body },
  }))
}
