/** Settings, structured output and tools for generateContent upstreams. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Prompt, Tool } from '../../../../plugins/formats/hub/prompt.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import { encodeRequest, prompt, text, user, withTools } from './prompt-builders.ts'

t.test('Gemini encoder: maps settings and reports those without a name', t => {
  const { body, dropped } = encodeRequest(
    prompt([user(text('x'))], {
      settings: {
        limit: 100_000,
        temperature: 1,
        topP: 0.5,
        topK: 3,
        seed: 1,
        logprobs: true,
        stops: ['1', '2', '3', '4', '5', '6'],
        modalities: ['text', 'image'],
        tier: 'flex',
        audio: { voice: 'Kore', format: 'mp3' },
        safety: [{ category: 'x' }],
        parallel: false,
        bias: {},
        user: 'u',
        metadata: { a: 'b' },
        store: false,
        cacheKey: 'k',
        verbosity: 'low',
      },
    }),
    {},
    8192,
  )
  t.same(body.generationConfig, {
    maxOutputTokens: 8192,
    temperature: 1,
    topP: 0.5,
    topK: 3,
    seed: 1,
    responseLogprobs: true,
    stopSequences: ['1', '2', '3', '4', '5'],
    responseModalities: ['TEXT', 'IMAGE'],
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
  })
  t.match(body, { safetySettings: [{ category: 'x' }], serviceTier: 'flex' })
  t.same([...dropped].sort(), [
    'audio.format',
    'bias',
    'cacheKey',
    'metadata',
    'parallel',
    'stops',
    'user',
    'verbosity',
  ])
  t.end()
})
t.test('Gemini encoder: sends at most five stop sequences and reports the others', t => {
  for (const count of [0, 1, 4, 5, 6, 7]) {
    const stops = Array.from({ length: count }, (_, at) => `s${at}`)
    const { body, dropped } = encodeRequest(prompt([user(text('x'))], { settings: { stops } }))
    const remaining = count > 0 ? { stopSequences: stops.slice(0, 5) } : {}
    t.same(body.generationConfig ?? {}, remaining, `${count}`)
    t.same(dropped, count > 5 ? ['stops'] : [], `${count}`)
  }
  t.end()
})
t.test('Gemini encoder: writes structured output in both schema dialects', t => {
  const schema = {
    type: 'object',
    properties: { a: { type: ['string', 'null'] } },
    additionalProperties: false,
  }
  const form = { type: 'schema', schema, description: 'd' } as const
  t.same(encodeRequest(prompt([user(text('x'))], { form })).body.generationConfig, {
    responseMimeType: 'application/json',
    responseJsonSchema: { ...schema, description: 'd' },
  })
  t.same(
    encodeRequest(prompt([user(text('x'))], { form }), { json_schema: false }).body
      .generationConfig,
    {
      responseMimeType: 'application/json',
      responseSchema: {
        type: 'OBJECT',
        description: 'd',
        properties: { a: { type: 'STRING', nullable: true } },
      },
    },
  )
  t.same(
    encodeRequest(prompt([user(text('x'))], { form: { type: 'json' } })).body.generationConfig,
    {
      responseMimeType: 'application/json',
    },
  )
  t.end()
})
const f: Tool = { type: 'function', name: 'f', schema: { type: 'object', properties: {} } }
const search: Tool = { type: 'hosted', tool: 'web_search', clientName: 'gx_search' }

t.test('Gemini encoder: writes functions in one entry and each hosted tool in its own', t => {
  t.same(withTools([f, { ...f, name: 'g', description: 'd' }]).body.tools, [
    {
      functionDeclarations: [
        { name: 'f', parametersJsonSchema: { type: 'object', properties: {} } },
        { name: 'g', description: 'd', parametersJsonSchema: { type: 'object', properties: {} } },
      ],
    },
  ])
  t.same(
    withTools([search, { type: 'hosted', tool: 'web_fetch', clientName: 'web_fetch' }]).body.tools,
    [{ googleSearch: {} }, { urlContext: {} }],
  )
  t.same(withTools([f], {}, { json_schema: false }).body.tools, [
    { functionDeclarations: [{ name: 'f' }] },
  ])
  t.end()
})
t.test('Gemini encoder: writes a tool with two names once', t => {
  const again: Tool = { type: 'hosted', tool: 'web_search', clientName: 'web_search_options' }
  t.same(withTools([search, again]).body.tools, [{ googleSearch: {} }])
  t.end()
})
t.test('Gemini encoder: mixes hosted tools and functions if the model can', async t => {
  const fault = await errorFrom(async () => withTools([f, search]))
  t.match(fault, { status: 400, message: /'gx_search'/, param: 'tools' })
  t.match(withTools([f, search], {}, { mixed_tools: true }).body, {
    tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: 'f' }] }],
    toolConfig: { includeServerSideToolInvocations: true },
  })
})
t.test('Gemini encoder: rejects unsupported tools by the client’s name', async t => {
  for (const [tool, name] of [
    [
      { type: 'hosted', tool: 'image_generation', clientName: 'image_generation' },
      'image_generation',
    ],
    [
      { type: 'hosted', tool: 'file_search', clientName: 'file_search', stores: ['vs_1'] },
      'file_search',
    ],
    [{ type: 'foreign', origin: 'anthropic-messages', name: 'computer', raw: {} }, 'computer'],
  ] as const) {
    const fault = await errorFrom(async () => withTools([tool]))
    t.match(fault, { status: 400, message: new RegExp(`'${name}'`) })
  }
})
t.test('Gemini encoder: maps the tool choice', t => {
  const encodeChoice = (choice: NonNullable<Prompt['choice']>) => {
    const { body } = withTools([f, { ...f, name: 'g' }], { choice })
    const tools = (body as Fields).tools as never as { functionDeclarations: { name: string }[] }[]
    const names = tools[0]?.functionDeclarations.map(({ name }) => name).join()
    return [
      ((body as Fields).toolConfig as { functionCallingConfig: Json }).functionCallingConfig,
      names,
    ]
  }
  t.same(encodeChoice({ type: 'auto' }), [{ mode: 'AUTO' }, 'f,g'])
  t.same(encodeChoice({ type: 'none' }), [{ mode: 'NONE' }, 'f,g'])
  t.same(encodeChoice({ type: 'required' }), [{ mode: 'ANY' }, 'f,g'])
  t.same(encodeChoice({ type: 'tool', name: 'g' }), [
    { mode: 'ANY', allowedFunctionNames: ['g'] },
    'f,g',
  ])
  t.same(encodeChoice({ type: 'some', mode: 'required', names: ['f'] }), [
    { mode: 'ANY', allowedFunctionNames: ['f'] },
    'f,g',
  ])
  t.same(encodeChoice({ type: 'some', mode: 'auto', names: ['f'] }), [{ mode: 'AUTO' }, 'f'])
  t.same(withTools([search], { choice: { type: 'none' } }).body.tools, undefined)
  t.end()
})
t.test('Gemini encoder: reports tool options that it drops', t => {
  const { dropped } = withTools([
    {
      ...search,
      domains: { allowed: ['a'], blocked: ['b'] },
      location: {},
      depth: 'low',
      maxCalls: 1,
    },
  ])
  t.same(
    dropped,
    ['allowed_domains', 'user_location', 'search_context_size', 'max_uses', 'blocked_domains'].map(
      each => `gx_search.${each}`,
    ),
  )
  t.match(
    withTools([{ ...search, domains: { blocked: ['b'] } }], {}, { vertex: true }).body.tools,
    [{ googleSearch: { excludeDomains: ['b'] } }],
  )
  t.same(withTools([{ ...f, strict: true, cache: {} } as Tool]).dropped, [
    'strict',
    'cache_control',
  ])
  t.match(withTools([{ ...f, strict: true } as Tool], {}, { strict_tools: true }).body.toolConfig, {
    functionCallingConfig: { mode: 'VALIDATED' },
  })
  t.same(withTools([{ type: 'free', name: 'p', grammar: { type: 'grammar' } }]).dropped, ['format'])
  t.end()
})
