/** Calls, signatures, hosted calls and grounding in answers of generateContent upstreams. */
import t from 'tap'
import {
  call,
  contentOf,
  inputsOf,
  piece,
  stop,
  stopOf,
  stringPiece,
  whole,
} from './answer-builders.ts'

const NAME = 'google-gemini'

t.test('Gemini stream decoder: collects arguments that arrive value by value (edge 28)', t => {
  const opening = { name: 'f', willContinue: true }
  const pieces = [
    call(stringPiece('$.a', 'x')),
    call(stringPiece('$.a', 'y')),
    call(stringPiece('$.a', '', false)),
    call({ partialArgs: [{ jsonPath: '$.list[0].n', numberValue: 0.5 }], willContinue: true }),
    call({ willContinue: true }),
    call({ partialArgs: [{ jsonPath: '$.list[1].n', boolValue: false }], willContinue: true }),
    call({
      partialArgs: [{ jsonPath: "$['b.c'].d", nullValue: 'NULL_VALUE' }],
      willContinue: true,
    }),
  ]
  const args = { a: 'xy', list: [{ n: 0.5 }, { n: false }], 'b.c': { d: null } }
  t.same(inputsOf(call(opening), ...pieces, call({}), stop()), [args])
  t.same(inputsOf(call(opening), ...pieces, stop()), [args], 'the last piece is missing')
  const next = call({ name: 'g', args: { q: 1 } })
  t.same(inputsOf(call(opening), ...pieces, next, stop()), [args, { q: 1 }], 'another call begins')
  t.same(inputsOf(call(opening), call({}), call({ name: 'h' }), stop()), [{}, {}], 'no arguments')
  t.same(inputsOf(call({}), call({ willContinue: true }), stop()), [], 'an end without a call')
  t.end()
})
t.test('Gemini stream decoder: hostile argument paths have no effect', t => {
  const value = (jsonPath: string) => ({
    partialArgs: [{ jsonPath, stringValue: 'x' }],
    willContinue: true,
  })
  const [input] = inputsOf(
    call({ name: 'f', willContinue: true }),
    call(value('$.__proto__.polluted')),
    call(value('$.list[4000000000]')),
    call(value('$')),
    call(value('nonsense')),
    stop(),
  )
  t.equal(({} as { polluted?: string }).polluted, undefined)
  t.same(input.list, ['x'])
  t.ok(Object.keys(input).includes('__proto__'), 'stored as an ordinary member')
  t.end()
})
t.test('Gemini decoder: keeps ids of calls and makes unique ones where they are missing', t => {
  const ids = (
    contentOf(call({ name: 'f', args: {}, id: 'own' }), call({ name: 'f' }), stop()) ?? []
  )
    .concat(contentOf(call({ name: 'f' }), call({ name: 'f' }), stop()) ?? [])
    .map(each => (each.type === 'call' ? each.id : ''))
  t.equal(ids[0], 'own')
  t.same(ids.slice(1), ['call_r1_0', 'call_r1_0', 'call_r1_1'])
  const nameless = (): string | undefined => {
    const [callId] =
      whole({ content: { parts: [{ functionCall: { name: 'f' } }] } }).choices[0]?.content ?? []
    return callId?.type === 'call' ? callId.id : undefined
  }
  t.not(nameless(), nameless(), 'an answer without an id of its own')
  t.end()
})
t.test('Gemini decoder: reads signatures of calls (edge 8)', t => {
  const { choices } = whole({
    content: {
      parts: [
        { functionCall: { name: 'f', args: {} }, thoughtSignature: 'S1' },
        { functionCall: { name: 'g', args: {} } },
      ],
    },
    finishReason: 'STOP',
  })
  t.same(
    choices[0]?.content.map(each => ('payload' in each ? each.payload?.data : 'none')),
    ['S1', 'none'],
  )
  t.end()
})
t.test('Gemini decoder: keeps a signature without text (edge 10)', t => {
  const withPayload = [{ text: '', thoughtSignature: 'S' }]
  t.match(contentOf(piece([{ text: 'a' }]), piece(withPayload, { finishReason: 'STOP' })), [
    { type: 'text', text: 'a' },
    { type: 'thought', text: '', payload: { origin: NAME, data: 'S' } },
  ])
  t.match(
    contentOf(call({ name: 'f' }), piece(withPayload), stop()),
    [{ type: 'call' }, { type: 'thought', text: '', payload: { data: 'S' } }],
    'without preceding text it becomes a thought',
  )
  t.match(
    contentOf(
      piece([{ text: 't', thought: true }]),
      piece([{ ...withPayload[0], thought: true }]),
      stop(),
    ),
    [{ type: 'thought', text: 't', payload: { data: 'S' } }],
  )
  t.end()
})
t.test('Gemini stream decoder: text and thoughts are separate blocks for any chunks', t => {
  t.match(
    contentOf(
      piece([{ text: 'a', thought: true }]),
      piece([{ text: 'b', thought: true }, { text: 'c' }]),
      piece([{ text: 'd' }]),
      stop(),
    ),
    [
      { type: 'thought', text: 'ab' },
      { type: 'text', text: 'cd' },
    ],
  )
  t.end()
})

t.test('Gemini decoder: joins code and its output to one hosted call', t => {
  const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
  const result = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } }
  const content = contentOf(
    piece([{ text: 'a' }]),
    piece([code]),
    piece([result]),
    piece([{ text: 'b' }]),
    stop(),
  )
  t.match(content, [
    { type: 'text', text: 'a' },
    {
      type: 'hostedCall',
      tool: 'code_execution',
      input: { language: 'python', code: 'print(1)' },
      output: { output: '1\n' },
      raw: { origin: NAME, items: [code, result] },
    },
    { type: 'text', text: 'b' },
  ])
  t.match(stopOf(piece([code, result]), stop()), { reason: 'end' })
  const failedResult = { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'x' } }
  t.match(contentOf(piece([code, failedResult]), stop()), [{ error: 'OUTCOME_FAILED' }])
  t.match(
    contentOf(piece([result]), stop()),
    [{ type: 'hostedCall', output: {} }],
    'a result without its call',
  )
  t.match(contentOf(piece([code]), piece([{ text: 'c' }]), stop()), [
    { type: 'hostedCall', output: undefined },
    { type: 'text' },
  ])
  t.end()
})
t.test('Gemini decoder: reads hosted calls that newer models show as parts', t => {
  const toolCall = (id: string) => ({
    toolCall: { id, toolType: 'GOOGLE_SEARCH_WEB', args: { queries: [id] } },
    thoughtSignature: `S${id}`,
  })
  const gave = (id: string) => ({
    toolResponse: { id, toolType: 'GOOGLE_SEARCH_WEB', response: { id } },
  })
  const grounding = { groundingMetadata: { webSearchQueries: ['a'] } }
  t.match(
    contentOf(piece([toolCall('a'), toolCall('b'), gave('a'), gave('b')]), stop('STOP', grounding)),
    [
      { type: 'hostedCall', tool: 'web_search', id: 'a', output: { id: 'a' } },
      { type: 'hostedCall', tool: 'web_search', id: 'b', output: { id: 'b' } },
    ],
    'the search is emitted once',
  )
  t.end()
})
t.test('Gemini stream decoder: emits each citation once, in UTF-16 units', t => {
  const text = 'Zürich 🏔 liegt schön.'
  const from = Buffer.byteLength('Zürich 🏔 ')
  const groundingMetadata = {
    webSearchQueries: ['zürich'],
    groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }, {}, null],
    groundingSupports: [
      {
        segment: { startIndex: from, endIndex: from + 12, text: 'liegt schön' },
        groundingChunkIndices: [0, 1, 2, 9, 'x'],
      },
    ],
  }
  const halves = [
    piece([{ text: text.slice(0, 3) }]),
    piece([{ text: text.slice(3) }], { groundingMetadata }),
  ]
  const [words, hostedCall] = contentOf(...halves, stop('STOP', { groundingMetadata })) ?? []
  t.match(words, {
    citations: [{ url: 'https://a.example', title: 'A', quote: 'liegt schön', start: 10, end: 21 }],
  })
  t.equal(words?.type === 'text' && words.citations?.length, 1)
  t.equal(text.slice(10, 21), 'liegt schön')
  t.match(hostedCall, { type: 'hostedCall', tool: 'web_search', input: { query: 'zürich' } })
  t.end()
})
t.test('Gemini stream decoder: emits citations that arrive after the text was closed', t => {
  const groundingMetadata = {
    groundingChunks: [
      { retrievedContext: { title: 'T', text: 'words', fileSearchStore: 'fileSearchStores/x' } },
    ],
    groundingSupports: [{ segment: { endIndex: 1, text: 'a' }, groundingChunkIndices: [0] }],
  }
  const content =
    contentOf(piece([{ text: 'a' }]), call({ name: 'f' }), stop('STOP', { groundingMetadata })) ??
    []
  t.match(content.at(-2), {
    type: 'text',
    text: '',
    citations: [{ title: 'T', file: 'fileSearchStores/x', quote: 'a' }],
  })
  t.match(content.at(-1), { tool: 'file_search', sources: [{ quote: 'words' }] })
  t.end()
})
t.test('Gemini decoder: reads URL context and recitations', t => {
  const urlMetadata = [
    { retrievedUrl: 'https://a.example', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' },
    { retrievedUrl: 'https://b.example', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_ERROR' },
    {},
  ]
  const { choices } = whole({
    content: { parts: [{ text: 'abc' }] },
    finishReason: 'STOP',
    urlContextMetadata: { urlMetadata },
    citationMetadata: {
      citationSources: [{ startIndex: 1, endIndex: 2, uri: 'https://c.example' }],
    },
  })
  t.match(choices[0]?.content, [
    { tool: 'url_context', input: { url: 'https://a.example' } },
    { tool: 'url_context', error: 'URL_RETRIEVAL_STATUS_ERROR' },
    { type: 'text', citations: [{ url: 'https://c.example', start: 1, end: 2 }] },
  ])
  t.end()
})
