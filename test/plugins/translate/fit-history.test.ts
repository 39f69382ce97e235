/** Histories that a client's own provider takes and others refuse: ids that occur twice, several
 *  results of one call, media in system turns, media by URL in results. */
import t from 'tap'
import { asList, asObject, type LooseObject } from '../../helpers/formats/loose-json.ts'
import { type CellTarget, type Client, findingsOf, send, TARGETS } from '../../oracles/cells.ts'

const targetsOf = (...formats: readonly string[]): readonly CellTarget[] =>
  formats.flatMap(format => TARGETS.find(each => each.format === format) ?? [])
const ALL = [...new Map(TARGETS.map(each => [each.format, each])).values()]

const user = { role: 'user', content: 'hi' }
const PARAMETERS = { type: 'object', properties: {} }
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: PARAMETERS } }]
const calls = (...names: readonly string[]): LooseObject => ({
  role: 'assistant',
  content: null,
  tool_calls: names.map(text => ({
    id: 'call_0',
    type: 'function',
    function: { name: 'f', arguments: JSON.stringify({ text }) },
  })),
})
const result = (content: string): LooseObject => ({
  role: 'tool',
  tool_call_id: 'call_0',
  content,
})
const sendChat = async (target: CellTarget, ...messages: readonly LooseObject[]) => {
  const body = { messages: [user, ...messages], tools: TOOLS }
  const request = { client: 'openai-chat', name: '', body } as const
  return { findings: await findingsOf(request, target), ...(await send(request, target)) }
}
t.test('call ids: calls of several turns with one id keep their results', async t => {
  const turns = [calls('first'), result('one'), calls('second'), result('two')]
  for (const target of ALL) {
    const { findings, upstreamBody } = await sendChat(target, ...turns)
    t.same(findings, [], target.title)
    const texts = JSON.stringify(upstreamBody).match(/first|one|second|two/g)
    t.same(texts, ['first', 'one', 'second', 'two'], target.title)
  }
})
t.test('call ids: parallel calls with one id get their results in order', async t => {
  const [target] = targetsOf('anthropic-messages')
  if (!target) throw new Error('no target')
  const turns = [calls('first', 'second'), result('one'), result('two')]
  const { findings, upstreamBody } = await sendChat(target, ...turns)
  t.same(findings, [])
  t.match(asList(upstreamBody?.messages).slice(1), [
    { content: [{ id: 'call_0' }, { id: 'call_0_2' }] },
    {
      content: [
        { tool_use_id: 'call_0', content: [{ text: 'one' }] },
        { tool_use_id: 'call_0_2', content: [{ text: 'two' }] },
      ],
    },
  ])
})
t.test('results: several of one call become one', async t => {
  for (const target of ALL.filter(({ format }) => format !== 'openai-chat')) {
    const { findings, upstreamBody } = await sendChat(
      target,
      calls('a'),
      result('one'),
      user,
      result('two'),
    )
    t.same(findings, [], target.title)
    t.match(JSON.stringify(upstreamBody), /one.*two/, target.title)
  }
})

const BASE64 = 'iVBORw0KGgo='
const SYSTEM_IMAGES: Readonly<Record<string, LooseObject>> = {
  'openai-responses': {
    input: [
      {
        role: 'developer',
        content: [
          { type: 'input_text', text: 'Be brief.' },
          { type: 'input_image', image_url: `data:image/png;base64,${BASE64}`, detail: 'auto' },
        ],
      },
      user,
    ],
  },
  'anthropic-messages': {
    max_tokens: 100,
    messages: [
      user,
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be brief.' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: BASE64 } },
        ],
      },
    ],
  },
  'google-gemini': {
    systemInstruction: {
      parts: [{ text: 'Be brief.' }, { inlineData: { mimeType: 'image/png', data: BASE64 } }],
    },
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  },
}
t.test('media in system turns: they arrive as the user’s', async t => {
  for (const [client, body] of Object.entries(SYSTEM_IMAGES))
    for (const target of ALL.filter(({ format }) => format !== client)) {
      const request = { client: client as Client, name: '', body }
      const label = `${client} to ${target.title}`
      t.same(await findingsOf(request, target), [], label)
      const { upstreamBody } = await send(request, target)
      const text = JSON.stringify(upstreamBody)
      t.match(text, 'Be brief.', label)
      t.match(text, BASE64, label)
    }
})

const PAGE = 'https://www.youtube.com/watch?v=abc'
t.test('video pages: Google gets their address', async t => {
  const gemini = { contents: [{ parts: [{ fileData: { fileUri: PAGE } }, { text: 'What?' }] }] }
  const interactions = { input: [{ type: 'video', uri: PAGE }] }
  for (const [client, format, body] of [
    ['google-gemini', 'google-interactions', gemini],
    ['google-interactions', 'google-gemini', interactions],
  ] as const)
    for (const target of TARGETS.filter(each => each.format === format)) {
      const { upstreamBody } = await send({ client, name: '', body }, target)
      t.match(JSON.stringify(upstreamBody), PAGE, `${client} to ${target.title}`)
    }
})
t.test('media by URL in results: fetched for targets that open no URLs', async t => {
  const url = 'https://example.com/a.png'
  const image = { type: 'image', source: { type: 'url', url } }
  const whole = { type: 'document', source: { type: 'content', content: [image] } }
  const body = {
    max_tokens: 100,
    tools: [{ name: 'f', input_schema: PARAMETERS }],
    messages: [
      user,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', content: [image, whole] }],
      },
    ],
  }
  for (const target of targetsOf('google-gemini', 'google-interactions', 'bedrock-converse')) {
    const request = { client: 'anthropic-messages', name: '', body } as const
    const { upstreamBody, refusal } = await send(request, target)
    t.equal(refusal, undefined, target.title)
    const text = JSON.stringify(asObject(upstreamBody))
    t.match(text, BASE64, target.title)
    t.notMatch(text, url, target.title)
  }
})

const targetOf = (title: string): CellTarget => {
  const target = TARGETS.find(each => each.title === title)
  if (!target) throw new Error(`no target ${title}`)
  return target
}
const [MISTRAL, DEEPSEEK] = ['openai-chat/mistral', 'openai-chat/deepseek'].map(targetOf)
t.test('answer members: clients may copy them to a provider that refuses them', async t => {
  const copied = { refusal: null, annotations: [], audio: null, function_call: null }
  const part = { type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }
  const messages = [
    { role: 'user', content: [part] },
    { role: 'assistant', content: 'Hello.', ...copied },
    user,
    { role: 'assistant', content: null, refusal: 'No.' },
    user,
  ]
  const { upstreamBody } = await send(
    { client: 'openai-chat', name: '', body: { messages } },
    MISTRAL as CellTarget,
  )
  t.same(upstreamBody?.messages, [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'assistant', content: 'Hello.' },
    user,
    { role: 'assistant', content: 'No.' },
    user,
  ])
})
t.test('media of kinds that a provider lacks: texts are sent as text, others refused', async t => {
  const ask = (source: LooseObject) => {
    const content = [{ type: 'document', source }]
    const body = { max_tokens: 10, messages: [{ role: 'user', content }] }
    return send({ client: 'anthropic-messages', name: '', body }, DEEPSEEK as CellTarget)
  }
  const text = await ask({ type: 'text', media_type: 'text/plain', data: 'a page' })
  t.match(text.upstreamBody?.messages, [{ content: 'a page' }])
  const pdf = await ask({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' })
  t.match(pdf.refusal, /400 'messages\[0\].content\[0\]'/)
  const inlineData = { mimeType: 'text/csv', data: Buffer.from('a,b').toString('base64') }
  const contents = [{ role: 'user', parts: [{ inlineData }] }]
  const csv = await send(
    { client: 'google-gemini', name: '', body: { contents } },
    DEEPSEEK as CellTarget,
  )
  t.match(csv.upstreamBody?.messages, [{ content: 'a,b' }])
})
t.test('choices of several tools: offered alone to providers without such a choice', async t => {
  const declarations = ['f', 'g', 'h'].map(name => ({ name }))
  const functionCallingConfig = { mode: 'ANY', allowedFunctionNames: ['f', 'h'] }
  const body = {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: declarations }],
    toolConfig: { functionCallingConfig },
  }
  const request = { client: 'google-gemini', name: '', body } as const
  const { upstreamBody } = await send(request, DEEPSEEK as CellTarget)
  t.match(upstreamBody, {
    tool_choice: 'required',
    tools: [{ function: { name: 'f' } }, { function: { name: 'h' } }],
  })
  const openai = await send(request, targetOf('openai-chat/gpt-5'))
  t.match(openai.upstreamBody?.tool_choice, { type: 'allowed_tools' })
})

t.test(
  'the result of a call in an earlier answer: only a target of responses knows it',
  async t => {
    const output = { type: 'function_call_output', call_id: 'c0', output: 'ok' }
    for (const earlier of [{ previous_response_id: 'resp_1' }, { conversation: 'conv_1' }])
      for (const target of targetsOf('openai-chat', 'anthropic-messages', 'google-gemini')) {
        const body = { ...earlier, input: [output] }
        const { upstreamBody, refusal } = await send(
          { client: 'openai-responses', name: '', body },
          target,
        )
        t.equal(upstreamBody, undefined, target.title)
        t.match(refusal, /'c0' answers a tool call that is not in the conversation/, target.title)
      }
  },
)
t.test('tools: one of a namespace beside one with the joined name', async t => {
  const tool = (name: string) => ({ type: 'function', name, parameters: PARAMETERS })
  const group = { type: 'namespace', name: 'ns', description: 'd', tools: [tool('f')] }
  for (const target of targetsOf('openai-chat', 'anthropic-messages', 'google-gemini')) {
    const body = { input: 'hi', tools: [group, tool('ns__f')] }
    const request = { client: 'openai-responses', name: '', body } as const
    const { upstreamBody, refusal } = await send(request, target)
    t.equal(refusal, undefined, target.title)
    const names = JSON.stringify(upstreamBody).match(/"name":"ns__f[^"]*"/g) ?? []
    t.equal(new Set(names).size, 2, target.title)
  }
})
