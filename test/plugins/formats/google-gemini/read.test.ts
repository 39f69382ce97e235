/** Decoding requests of generateContent. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { requestToCount } from '../../../../plugins/formats/google-gemini/request.ts'
import { decodePrompt } from '../../../helpers/formats/codec.ts'
import { decodeRequest, encodeRequest, HI } from './prompt-builders.ts'

const NAME = 'google-gemini'

t.test('Gemini decoder: accepts all spellings of members and base64', t => {
  const body = (spell: (name: string) => string): Json => ({
    contents: [
      {
        parts: [
          { [spell('inlineData')]: { [spell('mimeType')]: 'image/PNG', data: '_-8' } },
          {
            [spell('fileData')]: { [spell('fileUri')]: 'https://a.example/x.mp4?y=1.png' },
            [spell('videoMetadata')]: { fps: 2 },
          },
        ],
      },
    ],
    [spell('systemInstruction')]: { parts: { text: 'be brief' } },
    [spell('generationConfig')]: {
      [spell('maxOutputTokens')]: '9',
      [spell('stopSequences')]: ['x'],
      [spell('thinkingConfig')]: {
        [spell('thinkingBudget')]: 0,
        [spell('includeThoughts')]: true,
      },
    },
    [spell('toolConfig')]: {
      [spell('functionCallingConfig')]: { mode: 'any', [spell('allowedFunctionNames')]: ['f'] },
    },
    tools: {
      [spell('functionDeclarations')]: [{ name: 'f', [spell('parametersJsonSchema')]: {} }],
    },
  })
  const camel = decodePrompt(
    NAME,
    body(name => name),
  )
  const snake = decodePrompt(
    NAME,
    body(name => name.replace(/[A-Z]/g, each => `_${each.toLowerCase()}`)),
  )
  const { body: _, ...same } = camel.prompt
  t.match(snake.prompt.settings, same.settings)
  t.same(snake.prompt.tools, same.tools)
  t.same([camel.dropped, snake.dropped], [[], []])
  t.match(same, {
    turns: [
      { role: 'system', content: [{ type: 'text', text: 'be brief' }] },
      {
        role: 'user',
        content: [
          { kind: 'image', source: { type: 'data', data: '/+8=', mime: 'image/png' } },
          { kind: 'video', source: { type: 'url', mime: 'video/mp4' }, clip: { fps: 2 } },
        ],
      },
    ],
    settings: { limit: 9, stops: ['x'] },
    thinking: { mode: 'off', show: true },
    choice: { type: 'tool', name: 'f' },
  })
  t.match(snake.prompt.turns[1]?.content, [{ at: 'contents[0].parts[0].inline_data' }, {}])
  t.end()
})
t.test('Gemini decoder: accepts every form of the system instruction', t => {
  for (const systemInstruction of [
    'be brief',
    { text: 'be brief' },
    { parts: [{ text: 'be brief' }] },
    ['be brief'],
    { role: 'system', parts: [{ text: 'be brief' }] },
    [{ text: 'be brief' }],
  ])
    t.match(decodeRequest({ systemInstruction }).prompt.turns[0], {
      role: 'system',
      content: [{ text: 'be brief' }],
    })
  for (const systemInstruction of ['', null, { parts: [] }, { role: 'user' }])
    t.equal(decodeRequest({ systemInstruction }).prompt.turns[0]?.role, 'user')
  t.end()
})
t.test('Gemini decoder: reports unknown fields by the client’s names', t => {
  const { dropped } = decodeRequest({
    model: 'models/x',
    modelArmorConfig: {},
    generation_config: { media_resolution: 'x', imageConfig: {}, seed: null },
    toolConfig: { retrievalConfig: {}, includeServerSideToolInvocations: true },
    tools: [{ functionDeclarations: [{ name: 'f', behavior: 'x' }] }],
  })
  t.same(dropped, [
    'tools[0].functionDeclarations[0].behavior',
    'toolConfig.retrievalConfig',
    'generation_config.media_resolution',
    'generation_config.imageConfig',
    'modelArmorConfig',
  ])
  t.end()
})
t.test('Gemini decoder: takes streaming from the path', t => {
  const isStreamed = (path: string) => decodePrompt(NAME, { contents: HI }, path).prompt.stream
  t.ok(isStreamed('/v1beta/models/x:streamGenerateContent?alt=sse'))
  t.ok(isStreamed('/v1/models/x:streamGenerateContent'))
  t.notOk(isStreamed('/v1beta/models/x:generateContent?x=:streamGenerateContent'))
  t.end()
})
t.test('Gemini decoder: pairs calls without ids and results by name, in order', t => {
  const call = (a: number) => ({ functionCall: { name: 'f', args: { a } } })
  const answer = (b: number) => ({ functionResponse: { name: 'f', response: { b } } })
  const { prompt } = decodePrompt(NAME, {
    contents: [
      ...HI,
      { role: 'model', parts: [call(1), call(2)] },
      { role: 'user', parts: [answer(1)] },
      { role: 'function', parts: [{ text: 'x' }, answer(2)] },
    ],
  })
  const [, words, back] = prompt.turns
  const ids = words?.content.map(each => (each.type === 'call' ? each.id : ''))
  t.equal(prompt.turns.length, 3, 'consecutive results form one turn')
  t.same(
    back?.content.map(each => (each.type === 'result' ? each.id : each.type)),
    [...(ids ?? []), 'text'],
  )
  t.not(ids?.[0], ids?.[1])
  t.match(back?.content[0], { name: 'f', value: { b: 1 }, content: [{ text: '{"b":1}' }] })
  t.end()
})
t.test('Gemini decoder: pairs a call without an id and a result with one by name', t => {
  const call = (a: number, id?: string) => ({
    functionCall: { name: 'f', args: { a }, ...(id && { id }) },
  })
  const answer = (b: number, id: string) => ({
    functionResponse: { name: 'f', id, response: { b } },
  })
  const { prompt } = decodePrompt(NAME, {
    contents: [
      ...HI,
      { role: 'model', parts: [call(1, 'own'), call(2), call(3)] },
      { role: 'user', parts: [answer(2, 'mine'), answer(1, 'own'), answer(3, 'other')] },
    ],
  })
  const idsOf = (index: number): readonly string[] =>
    prompt.turns[index]?.content.map(each => ('id' in each && each.id) || '') ?? []
  const [first, second, third] = idsOf(1)
  t.same(idsOf(2), [second, first, third])
  t.equal(first, 'own')
  t.end()
})
t.test('Gemini decoder: unwraps tool results by Google’s conventions', t => {
  const decodeResult = (response: Json) => {
    const { prompt } = decodePrompt(NAME, {
      contents: [
        { role: 'model', parts: [{ functionCall: { name: 'f', id: 'i' } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', id: 'i', response } }] },
      ],
    })
    return prompt.turns[1]?.content[0]
  }
  t.match(decodeResult({ output: 'x' }), { content: [{ text: 'x' }] })
  t.match(decodeResult({ result: [1] }), { content: [{ text: '[1]' }] })
  t.match(decodeResult({ error: 'no' }), { content: [{ text: 'no' }], hasFailed: true })
  t.match(decodeResult({ error: 'no', output: 'x' }), {
    content: [{ text: '{"error":"no","output":"x"}' }],
  })
  t.match(decodeResult({}), { content: [] })
  t.end()
})
t.test('Gemini decoder: a lone signature belongs to the text before it (edge 10)', t => {
  const { prompt } = decodePrompt(NAME, {
    contents: [
      { role: 'model', parts: [{ text: 'a' }] },
      {
        role: 'model',
        parts: [{ text: '' }, { text: '', thoughtSignature: 'S' }, { thoughtSignature: 'T' }],
      },
    ],
  })
  t.match(prompt.turns, [
    {
      content: [
        { type: 'text', text: 'a', payload: { origin: NAME, data: 'S' } },
        { type: 'thought', text: '', payload: { data: 'T' } },
      ],
    },
  ])
  t.end()
})
t.test('Gemini decoder: cached content becomes a document that only Google can open', t => {
  const { prompt, dropped } = decodeRequest({ cachedContent: 'cachedContents/x' })
  t.same(dropped, [])
  t.match(prompt.turns[0]?.content[0], {
    source: { type: 'file', file: 'cachedContents/x', origin: NAME },
    at: 'cachedContent',
  })
  t.match(encodeRequest(prompt).body, { cachedContent: 'cachedContents/x', contents: HI })
  t.end()
})
t.test('Gemini decoder: converts Google’s schemas to JSON Schema', t => {
  const parameters = {
    type: 'OBJECT',
    nullable: true,
    property_ordering: ['a'],
    properties: {
      nullable: { type: 'STRING', nullable: true, enum: ['x'] },
      list: {
        type: 'ARRAY',
        min_items: '2',
        items: { any_of: [{ type: 'NUMBER' }, { type: 'STRING' }] },
      },
    },
    required: ['list'],
  }
  const { prompt } = decodeRequest({
    tools: [{ functionDeclarations: [{ name: 'f', parameters }] }],
  })
  t.match(prompt.tools[0], {
    schema: {
      type: ['object', 'null'],
      properties: {
        nullable: { type: ['string', 'null'], enum: ['x', null] },
        list: {
          type: 'array',
          minItems: 2,
          items: { anyOf: [{ type: 'number' }, { type: 'string' }] },
        },
      },
      required: ['list'],
    },
  })
  t.end()
})
t.test('Gemini decoder: reads hosted tools and keeps unknown ones', t => {
  const { prompt } = decodeRequest({
    tools: [
      { google_search: {}, urlContext: {} },
      { codeExecution: {} },
      { googleMaps: { x: 1 } },
      { fileSearch: { fileSearchStoreNames: ['fileSearchStores/a'] } },
    ],
  })
  t.match(prompt.tools, [
    { type: 'hosted', tool: 'web_search' },
    { type: 'hosted', tool: 'url_context' },
    { type: 'hosted', tool: 'code_execution' },
    { type: 'foreign', origin: NAME, name: 'googleMaps' },
    { type: 'hosted', tool: 'file_search', stores: ['fileSearchStores/a'] },
  ])
  t.match(encodeRequest(prompt).body.tools, [
    { googleSearch: {} },
    { urlContext: {} },
    { codeExecution: {} },
    { googleMaps: { x: 1 } },
    { fileSearch: { fileSearchStoreNames: ['fileSearchStores/a'] } },
  ])
  t.end()
})

t.test('Gemini decoder: reads both shapes of a counting request (edge 29)', t => {
  t.same(requestToCount({ contents: HI }), { contents: HI })
  for (const key of ['generateContentRequest', 'generate_content_request'])
    t.same(requestToCount({ [key]: { model: 'models/x', contents: HI } }), {
      model: 'models/x',
      contents: HI,
    })
  t.end()
})
