/** Content of other providers for clients of generateContent: usage, ids, citations, hosted calls
 *  and images. */
import t from 'tap'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { END, encodeStreamed, encodeWhole, partsIn } from './client-encoding.ts'
import { readDirectly } from './reader.ts'

t.test('Gemini encoder: the total is the sum of all counts', t => {
  const meters = {
    input: 1,
    cached: 2,
    cache_write: 4,
    cache_write_1h: 8,
    audio_input: 16,
    output: 32,
    thinking: 64,
    audio_output: 128,
    web_search: 5,
  }
  t.same(encodeWhole([], END, { meters }).usageMetadata, {
    promptTokenCount: 31,
    cachedContentTokenCount: 2,
    candidatesTokenCount: 160,
    thoughtsTokenCount: 64,
    totalTokenCount: 255,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 15 },
      { modality: 'AUDIO', tokenCount: 16 },
    ],
    candidatesTokensDetails: [
      { modality: 'TEXT', tokenCount: 32 },
      { modality: 'AUDIO', tokenCount: 128 },
    ],
  })
  t.equal(encodeWhole([]).usageMetadata, undefined)
  t.end()
})
t.test('Gemini encoder: converts ids and arguments (edges 16 and 18)', t => {
  const id = `call|${'x'.repeat(80)}`
  const content: Content[] = [
    { type: 'call', id, name: 'f', input: '' },
    { type: 'call', id: 'b', name: 'g', input: 'some words', isFreeText: true },
  ]
  for (const parts of [partsIn([encodeWhole(content)]), partsIn(encodeStreamed(content))]) {
    t.match(parts[0], { functionCall: { id: /^[A-Za-z0-9_-]{1,64}$/, args: {} } })
    t.match(parts[1], { functionCall: { id: 'b', args: { input: 'some words' } } })
  }
  t.end()
})
t.test('Gemini encoder: counts citation offsets in bytes of the whole text', t => {
  const content: Content[] = [
    {
      type: 'text',
      text: 'Grüße. ',
      citations: [{ url: 'https://a.example', title: 'A', start: 0, end: 6 }],
    },
    {
      type: 'hostedCall',
      tool: 'web_search',
      id: 'w',
      input: { query: 'q' },
      sources: [{ url: 'https://c.example' }],
    },
    {
      type: 'text',
      text: '🏔 hoch',
      citations: [{ url: 'https://a.example' }, { document: 2, quote: 'Höhe', start: 3, end: 7 }],
    },
  ]
  const textWithCitations = [
    ['Grüße.', 'https://a.example'],
    ['hoch', 'document 2'],
    ['🏔 hoch', 'https://a.example'],
  ]
  for (const answers of [[encodeWhole(content)], encodeStreamed(content)]) {
    t.same(readDirectly(answers).citations, textWithCitations.sort())
    t.match(answers.at(-1)?.candidates?.[0]?.groundingMetadata, {
      webSearchQueries: ['q'],
      groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }, {}, {}],
    })
  }
  t.end()
})
t.test('Gemini encoder: writes other providers’ hosted calls', t => {
  const content: Content[] = [
    {
      type: 'hostedCall',
      tool: 'code_execution',
      id: 'c',
      input: { code: '1+1' },
      output: { stdout: '2' },
    },
    { type: 'hostedCall', tool: 'code_execution', id: 'd', input: 'x', error: 'it broke' },
    {
      type: 'hostedCall',
      tool: 'web_fetch',
      id: 'e',
      input: { url: 'https://a.example' },
      error: 'gone',
    },
    { type: 'hostedCall', tool: 'file_search', id: 'f', input: { queries: ['q'] } },
  ]
  for (const answers of [[encodeWhole(content)], encodeStreamed(content)]) {
    t.match(partsIn(answers).slice(0, 4), [
      { executableCode: { language: 'PYTHON', code: '1+1' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '2' } },
      { executableCode: { code: 'x' } },
      { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'it broke' } },
    ])
    t.match(answers.at(-1)?.candidates, [
      {
        groundingMetadata: { retrievalQueries: ['q'] },
        urlContextMetadata: { urlMetadata: [{ urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_ERROR' }] },
      },
    ])
  }
  t.end()
})
t.test('Gemini encoder: writes images inline and by URL', t => {
  const content: Content[] = [
    { type: 'media', kind: 'image', source: { type: 'data', data: 'AA', mime: 'image/png' } },
    {
      type: 'media',
      kind: 'image',
      source: { type: 'url', url: 'https://a.example/x', mime: 'image/png' },
    },
  ]
  for (const answers of [[encodeWhole(content)], encodeStreamed(content)])
    t.match(partsIn(answers).slice(0, 2), [
      { inlineData: { mimeType: 'image/png', data: 'AA' } },
      { fileData: { mimeType: 'image/png', fileUri: 'https://a.example/x' } },
    ])
  t.end()
})
