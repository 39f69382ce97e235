/** Content that a target's format cannot express is reported as dropped, or rejected if it must not
 *  be lost; it is never replaced by something else. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, encodePrompt, PROMPT } from '../../helpers/formats/codec.ts'
import {
  assistant,
  geminiUser,
  imagePart,
  STRICT,
  user,
} from '../../helpers/formats/request-parts.ts'
import { translateAttempt } from '../../helpers/formats/translation.ts'

const FORMATS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini']
const others = (name: string): readonly string[] => FORMATS.filter(each => each !== name)
const hi = { role: 'user', content: 'hi' }

/** Data of one provider for its own model, in the field for it. */
const OWN: readonly (readonly [client: string, field: string, body: Json])[] = [
  [
    'anthropic-messages',
    'tool_addition',
    {
      max_tokens: 9,
      messages: [
        hi,
        {
          role: 'system',
          content: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'look' } }],
        },
      ],
    },
  ],
  [
    'anthropic-messages',
    'tool_addition',
    {
      max_tokens: 9,
      system: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'look' } }],
      messages: [hi],
    },
  ],
  [
    'openai-responses',
    'compaction',
    { input: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'x' }, hi] },
  ],
  [
    'google-gemini',
    'toolCall',
    {
      contents: [
        geminiUser({ text: 'hi' }),
        { role: 'model', parts: [{ toolCall: { toolType: 'NEW', id: 'a' } }] },
      ],
    },
  ],
]

for (const [client, field, body] of OWN)
  t.test(`translation: reports ${field} of ${client} as dropped`, async t => {
    for (const target of others(client)) {
      const { prompt } = decodePrompt(client, body)
      const { body: request, dropped } = encodePrompt(target, prompt)
      t.ok(dropped.includes(field), `${target}: ${dropped}`)
      t.notMatch(
        JSON.stringify(request),
        /other|null|"content":""/,
        `${target} is sent nothing of it`,
      )
      const headers = STRICT
      const { fault } = await translateAttempt({ client, target, body, headers })
      t.match(fault, { code: 'FIELD_LOST', param: field }, `${target} under strict`)
    }
    const own = encodePrompt(client, decodePrompt(client, body).prompt)
    t.notOk(own.dropped.includes(field), 'its own provider receives it')
    t.match(JSON.stringify(own.body), new RegExp(field))
  })

t.test('translation: describes results of a client’s MCP server to every target', async t => {
  const use = { type: 'mcp_tool_use', id: 'm1', name: 'ask', server_name: 's', input: { q: 1 } }
  const result = { type: 'mcp_tool_result', tool_use_id: 'm1', content: 'forty-two' }
  const messages = [hi, assistant(use, result), hi]
  const { prompt } = decodePrompt('anthropic-messages', { max_tokens: 9, messages })
  for (const target of others('anthropic-messages')) {
    const { body, dropped } = encodePrompt(target, prompt)
    t.match(JSON.stringify(body), /forty-two/, target)
    t.same(dropped, [], target)
  }
})

/** A prompt of the hub, its dropped fields, and the formats that drop them. */
const HINTS: readonly (readonly [field: string, prompt: Partial<Prompt>, by: readonly string[]])[] =
  [
    [
      'cache_control',
      {
        turns: [
          { role: 'system', content: [{ type: 'text', text: 's', cache: {} }] },
          user({ type: 'text', text: 'hi' }),
        ],
      },
      others('anthropic-messages'),
    ],
    [
      'cache_control',
      {
        turns: [
          user({ type: 'text', text: 'hi' }),
          assistant({ type: 'text', text: 'a', cache: {} }),
          user({ type: 'text', text: 'go on' }),
        ],
      },
      others('anthropic-messages'),
    ],
    [
      'cache_control',
      {
        turns: [
          user({ type: 'text', text: 'hi' }),
          assistant({ type: 'call', id: 'a', name: 'f', input: '{}' }),
          user({ type: 'result', id: 'a', content: [{ type: 'text', text: 'b' }], cache: {} }),
        ],
      },
      others('anthropic-messages'),
    ],
    [
      'cache_control',
      { turns: [user({ type: 'text', text: 'hi' })], cache: {} },
      others('anthropic-messages'),
    ],
    [
      'cache_control',
      {
        turns: [
          assistant({ type: 'call', id: 'a', name: 'f', input: '{}' }),
          user({ type: 'result', id: 'a', content: [{ type: 'text', text: 'b', cache: {} }] }),
        ],
      },
      others('anthropic-messages'),
    ],
    [
      'citations',
      {
        turns: [
          user({ type: 'text', text: 'hi' }),
          assistant({ type: 'text', text: 'a', citations: [{ url: 'https://a.example' }] }),
          user({ type: 'text', text: 'go on' }),
        ],
      },
      FORMATS,
    ],
    [
      'filename',
      {
        turns: [
          user({ type: 'media', kind: 'document', source: { type: 'text', text: 'x' }, name: 'n' }),
        ],
      },
      others('anthropic-messages'),
    ],
    [
      'tool_choice',
      {
        turns: [user({ type: 'text', text: 'hi' })],
        tools: [{ type: 'hosted', tool: 'web_search', clientName: 'web_search_options' }],
        choice: { type: 'required' },
      },
      ['openai-chat', 'google-gemini'],
    ],
    [
      'tool_choice',
      {
        turns: [user({ type: 'text', text: 'hi' })],
        tools: [{ type: 'hosted', tool: 'web_search', clientName: 'web_search_options' }],
        choice: { type: 'tool', name: 'web_search' },
      },
      ['openai-chat', 'google-gemini'],
    ],
  ]
t.test('translation: reports hints that a format cannot express', async t => {
  for (const [field, prompt, by] of HINTS)
    for (const target of FORMATS) {
      const { dropped } = encodePrompt(target, { ...PROMPT, ...prompt })
      t.equal(dropped.includes(field), by.includes(target), `${target} ${field}`)
    }
})

t.test('tool choice: names a free-text tool as such', async t => {
  const free = { type: 'free', name: 'f' } as const
  const turns = [user({ type: 'text', text: 'hi' })] as const
  const prompt = { ...PROMPT, turns, tools: [free] }
  const one = encodePrompt('openai-chat', { ...prompt, choice: { type: 'tool', name: 'f' } })
  t.same(one.body.tool_choice, { type: 'custom', custom: { name: 'f' } })
  const some = { type: 'some', mode: 'required', names: ['f'] } as const
  t.match(encodePrompt('openai-chat', { ...prompt, choice: some }).body.tool_choice, {
    allowed_tools: { tools: [{ type: 'custom', custom: { name: 'f' } }] },
  })
})

t.test('generated image: is sent as a user message after the tool results', async t => {
  const image = {
    type: 'media',
    kind: 'image',
    source: { type: 'data', data: 'eA==', mime: 'image/png' },
  } as const
  const { body } = encodePrompt('openai-chat', {
    ...PROMPT,
    turns: [
      assistant(image, { type: 'call', id: 'a', name: 'f', input: '{}' }),
      user({ type: 'result', id: 'a', content: [] }),
      assistant(image),
    ],
  })
  const imageParts = [imagePart('data:image/png;base64,eA==')]
  t.match(body.messages, [
    { role: 'assistant' },
    { role: 'tool' },
    { role: 'user', content: imageParts },
    { role: 'user', content: imageParts },
  ])
})

t.test('structured output: the description moves into the schema', async t => {
  const form = { type: 'schema', schema: { type: 'object' }, description: 'A city' } as const
  for (const target of ['anthropic-messages', 'google-gemini'])
    t.match(JSON.stringify(encodePrompt(target, { ...PROMPT, form }).body), /"A city"/, target)
})
