/** How each format's usage counts map to the gateway's meters, as a table. */
import t from 'tap'
import { count, type Fields, isCount, quantity } from '../../../plugins/formats/fields.ts'
import { countsOf } from '../../../plugins/formats/google-gemini/usage.ts'
import { formatOf, formats } from '../../../plugins/formats/index.ts'
import type { Meter } from '../../../plugins/slots.ts'
import { recordedFormat, recordings } from '../../helpers/formats/recordings.ts'

type Row = readonly [format: string, what: string, counts: Fields, meters: object]
const TABLE: readonly Row[] = [
  [
    'openai-completions',
    'cached tokens are part of the prompt, thinking of the completion',
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 20 },
    },
    { input: 70, cached: 30, output: 30, thinking: 20 },
  ],
  [
    'openai-chat',
    'cached, cache write and audio tokens are part of the prompt; thinking and audio of the completion',
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 5, audio_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 7 },
    },
    {
      input: 55,
      cached: 30,
      cache_write: 5,
      audio_input: 10,
      output: 23,
      thinking: 20,
      audio_output: 7,
    },
  ],
  [
    'openai-chat',
    'names of the responses format',
    { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    { input: 10, output: 5 },
  ],
  [
    'openai-chat',
    'calls of tools by the names of OpenRouter',
    { prompt_tokens: 10, completion_tokens: 5, server_tool_use: { web_search_requests: 3 } },
    { input: 10, output: 5, web_search: 3 },
  ],
  [
    'openai-chat',
    'calls of tools by the names of xAI',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      server_side_tool_usage_details: { web_search_calls: 3, x_search_calls: 0 },
    },
    { input: 10, output: 5, web_search: 3 },
  ],
  [
    'openai-chat',
    'no details at all',
    { prompt_tokens: 19, total_tokens: 1739, completion_tokens: 1720, prompt_tokens_details: null },
    { input: 19, output: 1720 },
  ],
  [
    'openai-chat',
    'thinking beside the completion, as the total says',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 35,
      completion_tokens_details: { reasoning_tokens: 20 },
    },
    { input: 10, output: 5, thinking: 20 },
  ],
  [
    'openai-chat',
    'more cached than read never makes a negative',
    { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 500 } },
    { cached: 10, output: 1 },
  ],
  [
    'openai-chat',
    'cached audio is counted once',
    {
      prompt_tokens: 100,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 50, audio_tokens: 80 },
    },
    { cached: 50, audio_input: 50, output: 1 },
  ],
  [
    'openai-chat',
    'cached audio and images, and images that were written, by their own meters',
    {
      prompt_tokens: 100,
      completion_tokens: 60,
      prompt_tokens_details: {
        cached_tokens: 50,
        audio_tokens: 30,
        cached_tokens_details: { text_tokens: 15, audio_tokens: 20, image_tokens: 15 },
      },
      completion_tokens_details: { image_tokens: 40 },
    },
    {
      input: 40,
      cached: 15,
      cached_audio: 20,
      cached_image: 15,
      audio_input: 10,
      output: 20,
      image_output: 40,
    },
  ],
  [
    'openai-chat',
    'cached tokens beside the details, as Moonshot counts them',
    { prompt_tokens: 2989, completion_tokens: 500, cached_tokens: 2989 },
    { cached: 2989, output: 500 },
  ],
  [
    'openai-chat',
    'cached tokens as DeepSeek counts them',
    { prompt_tokens: 30, completion_tokens: 5, prompt_cache_hit_tokens: 20 },
    { input: 10, cached: 20, output: 5 },
  ],
  [
    'openai-chat',
    'cited pages, searches and thoughts as Perplexity counts them',
    {
      prompt_tokens: 33,
      completion_tokens: 7163,
      total_tokens: 7196,
      citation_tokens: 20016,
      num_search_queries: 18,
      reasoning_tokens: 73998,
    },
    { input: 20049, output: 7163, thinking: 73998, web_search: 18 },
  ],
  [
    'openai-chat',
    'seconds of sound as Mistral counts them',
    { prompt_tokens: 7, completion_tokens: 2, prompt_audio_seconds: 11 },
    { input: 7, output: 2, seconds: 11 },
  ],
  ['openai-chat', 'nonsense counts nothing', { prompt_tokens: '7', completion_tokens: -3 }, {}],
  ['openai-chat', 'nothing', {}, {}],
  [
    'openai-responses',
    'cached and written are part of the input, thought of the output',
    {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 25 },
      total_tokens: 130,
    },
    { input: 50, cached: 40, cache_write: 10, output: 5, thinking: 25 },
  ],
  [
    'openai-responses',
    'sound and images, cached and written, by their own meters',
    {
      input_tokens: 100,
      input_tokens_details: {
        audio_tokens: 30,
        cached_tokens: 50,
        cached_tokens_details: { audio_tokens: 20, image_tokens: 15 },
      },
      output_tokens: 60,
      output_tokens_details: { audio_tokens: 10, image_tokens: 40 },
    },
    {
      input: 40,
      cached: 15,
      cached_audio: 20,
      cached_image: 15,
      audio_input: 10,
      output: 10,
      audio_output: 10,
      image_output: 40,
    },
  ],
  [
    'openai-responses',
    'what was written to the longer cache is part of what was written',
    {
      input_tokens: 100,
      input_tokens_details: {
        cache_write_tokens: 70,
        cache_write_tokens_details: { ttl_30m_tokens: 50, ttl_12h_tokens: 20 },
      },
      output_tokens: 0,
    },
    { input: 30, cache_write: 50, cache_write_1h: 20 },
  ],
  [
    'openai-responses',
    'thinking beside the output, as the total says',
    {
      input_tokens: 10,
      output_tokens: 5,
      total_tokens: 35,
      output_tokens_details: { reasoning_tokens: 20 },
    },
    { input: 10, output: 5, thinking: 20 },
  ],
  [
    'anthropic-messages',
    'cached and written are beside the input; the hour is part of what was written',
    {
      input_tokens: 10,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 200,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
      output_tokens: 50,
      server_tool_use: { web_search_requests: 2 },
    },
    { input: 10, cached: 200, cache_write: 40, cache_write_1h: 60, output: 50, web_search: 2 },
  ],
  [
    'anthropic-messages',
    'thinking is part of the output if it is reported',
    { input_tokens: 1, output_tokens: 50, output_tokens_details: { thinking_tokens: 30 } },
    { input: 1, output: 20, thinking: 30 },
  ],
  [
    'anthropic-messages',
    'a compaction and a helper that the counts beside the iterations omit',
    {
      input_tokens: 23_000,
      output_tokens: 1_000,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      iterations: [
        {
          type: 'compaction',
          input_tokens: 180_000,
          output_tokens: 3_500,
          cache_read_input_tokens: 70,
          cache_creation_input_tokens: 50,
          cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 40 },
        },
        { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
        { type: 'advisor_message', model: 'other', input_tokens: 500, output_tokens: 60 },
        { type: 'of_a_later_version', input_tokens: 1, output_tokens: 2 },
      ],
    },
    { input: 203_501, cached: 70, cache_write: 10, cache_write_1h: 40, output: 4_562 },
  ],
  [
    'anthropic-messages',
    'a list of iterations that is not complete reduces nothing',
    {
      input_tokens: 100,
      output_tokens: 50,
      iterations: [{ type: 'message', input_tokens: 40, output_tokens: 60 }, null],
    },
    { input: 100, output: 60 },
  ],
  [
    'anthropic-messages',
    'parts of what was written to the cache without their sum',
    {
      input_tokens: 1,
      output_tokens: 1,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
    },
    { input: 1, cache_write: 40, cache_write_1h: 60, output: 1 },
  ],
  [
    'google-interactions',
    'cached is part of the input; thoughts and what tools added are beside',
    {
      total_input_tokens: 100,
      total_cached_tokens: 60,
      total_tool_use_tokens: 15,
      total_output_tokens: 20,
      total_thought_tokens: 30,
      total_tokens: 165,
    },
    { input: 55, cached: 60, output: 20, thinking: 30 },
  ],
  [
    'google-interactions',
    'audio, images and video by their modality',
    {
      total_input_tokens: 100,
      total_cached_tokens: 50,
      input_tokens_by_modality: [
        { modality: 'text', tokens: 20 },
        { modality: 'audio', tokens: 80 },
      ],
      cached_tokens_by_modality: [
        { modality: 'audio', tokens: 30 },
        { modality: 'image', tokens: 5 },
      ],
      total_output_tokens: 40,
      output_tokens_by_modality: [
        { modality: 'audio', tokens: 9 },
        { modality: 'image', tokens: 10 },
        { modality: 'video', tokens: 11 },
      ],
    },
    {
      cached: 15,
      cached_audio: 30,
      cached_image: 5,
      audio_input: 50,
      output: 10,
      audio_output: 9,
      image_output: 10,
      video_output: 11,
    },
  ],
  [
    'google-gemini',
    'cached is part of the prompt; thoughts and what tools added are beside',
    {
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      toolUsePromptTokenCount: 15,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      totalTokenCount: 165,
    },
    { input: 55, cached: 60, output: 20, thinking: 30 },
  ],
  [
    'google-gemini',
    'a modality in lower case',
    {
      promptTokenCount: 10,
      candidatesTokenCount: 9,
      candidatesTokensDetails: [{ modality: 'image', tokenCount: 4 }],
    },
    { input: 10, output: 5, image_output: 4 },
  ],
  [
    'google-gemini',
    'audio by its modality',
    {
      promptTokenCount: 100,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 20 },
        { modality: 'AUDIO', tokenCount: 80 },
      ],
      candidatesTokenCount: 9,
      candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 9 }],
    },
    { input: 20, audio_input: 80, audio_output: 9 },
  ],
  [
    'google-gemini',
    'cached audio is counted once',
    {
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 20 },
        { modality: 'AUDIO', tokenCount: 80 },
      ],
      cacheTokensDetails: [
        { modality: 'TEXT', tokenCount: 10 },
        { modality: 'AUDIO', tokenCount: 50 },
      ],
    },
    { input: 10, cached: 10, cached_audio: 50, audio_input: 30 },
  ],
  [
    'google-gemini',
    'images, sound and video that were written; cached images; sound that a tool added',
    {
      promptTokenCount: 345,
      toolUsePromptTokenCount: 20,
      toolUsePromptTokensDetails: [{ modality: 'AUDIO', tokenCount: 8 }],
      cachedContentTokenCount: 191,
      cacheTokensDetails: [
        { modality: 'IMAGE', tokenCount: 143 },
        { modality: 'TEXT', tokenCount: 48 },
      ],
      candidatesTokenCount: 2340,
      thoughtsTokenCount: 337,
      candidatesTokensDetails: [
        { modality: 'IMAGE', tokenCount: 1000 },
        { modality: 'IMAGE', tokenCount: 1000 },
        { modality: 'VIDEO', tokenCount: 100 },
        { modality: 'AUDIO', tokenCount: 40 },
      ],
    },
    {
      input: 166,
      cached: 48,
      cached_image: 143,
      audio_input: 8,
      output: 200,
      thinking: 337,
      audio_output: 40,
      image_output: 2000,
      video_output: 100,
    },
  ],
  [
    'google-gemini',
    'counts of a live answer',
    {
      promptTokenCount: 5,
      responseTokenCount: 9,
      responseTokensDetails: [{ modality: 'AUDIO', tokenCount: 7 }],
    },
    { input: 5, output: 2, audio_output: 7 },
  ],
  ['google-gemini', 'an answer without candidates', { promptTokenCount: 7 }, { input: 7 }],
  [
    'openai-images',
    'images that were seen are in what was read',
    {
      images: 2,
      input_tokens: 20,
      output_tokens: 272,
      total_tokens: 292,
      input_tokens_details: { text_tokens: 15, image_tokens: 5 },
    },
    { images: 2, input: 15, image_input: 5, output: 272 },
  ],
  ['openai-images', 'one that counts no tokens', { images: 1 }, { images: 1 }],
  [
    'openai-images',
    'images that were written, cached images, and what another model drew',
    {
      images: 1,
      input_tokens: 50,
      output_tokens: 300,
      input_tokens_details: {
        text_tokens: 10,
        image_tokens: 40,
        cached_tokens: 30,
        cached_tokens_details: { text_tokens: 5, image_tokens: 25 },
      },
      output_tokens_details: { image_tokens: 272, text_tokens: 28 },
      svg_usage: { model: 'x', input_tokens: 100, output_tokens: 70, reasoning_tokens: 20 },
    },
    {
      images: 1,
      input: 105,
      cached: 5,
      cached_image: 25,
      image_input: 15,
      output: 78,
      thinking: 20,
      image_output: 272,
    },
  ],
  [
    'openai-speech',
    'what it writes is sound',
    { input_tokens: 14, output_tokens: 101, total_tokens: 115 },
    { input: 14, audio_output: 101 },
  ],
  [
    'openai-transcription',
    'audio input is part of the input',
    {
      type: 'tokens',
      input_tokens: 110,
      output_tokens: 9,
      total_tokens: 119,
      input_token_details: { text_tokens: 10, audio_tokens: 100 },
    },
    { input: 10, audio_input: 100, output: 9 },
  ],
  [
    'openai-transcription',
    'without details, all input is audio',
    { type: 'tokens', input_tokens: 30, output_tokens: 4, total_tokens: 34 },
    { audio_input: 30, output: 4 },
  ],
  [
    'openai-transcription',
    'details that make no sense',
    { input_tokens: 30, input_token_details: { audio_tokens: 99 } },
    { audio_input: 30 },
  ],
  ['openai-transcription', 'seconds', { type: 'duration', seconds: 9.5 }, { seconds: 9.5 }],
  ['openai-moderations', 'of compatible servers only', { prompt_tokens: 4 }, { input: 4 }],
  [
    'cohere-rerank',
    'billed units and tokens',
    { billed_units: { search_units: 2 }, tokens: { input_tokens: 28, output_tokens: 0 } },
    { search_units: 2, input: 28 },
  ],
  ['cohere-rerank', 'a total alone', { billed_units: { total_tokens: 12 } }, { input: 12 }],
]

for (const [name, what, counts, meters] of TABLE)
  t.test(`meters of ${name}: ${what}`, async t => {
    const { usage } = formats.get(name) ?? {}
    t.same(usage?.meters(counts), meters)
    for (const meter of Object.keys(meters)) t.ok(usage?.counts.includes(meter as Meter), meter)
  })

t.test('meters of each format: every listed meter occurs in a case', async t => {
  for (const [name, { usage, base = name }] of formats) {
    const rows = TABLE.filter(([format]) => format === base)
    const result = new Set(rows.flatMap(([, , , meters]) => Object.keys(meters)))
    t.same([...usage.counts].sort(), [...result].sort(), name)
  }
})

const recorded = recordings()
t.test(
  'meters of recorded answers: add up to the upstream’s own totals',
  { skip: recorded === undefined && 'RECORDINGS is not set' },
  async t => {
    // A chat answer under the name of another format.
    const FOREIGN = new Set(['rec-0345'])
    let sums = 0
    for (const { id, format, stream, status, response_body } of recorded ?? []) {
      const usage = formats.get(recordedFormat(format) ?? '')?.usage
      if (stream || status !== 200 || !usage || FOREIGN.has(id)) continue
      const counts: Fields | undefined = JSON.parse(response_body)[usage.key]
      if (!counts) continue
      const { web_search: _, ...tokens } = usage.meters(counts)
      const sum = Object.values(tokens).reduce((total, amount) => total + amount, 0)
      sums++
      if (sum !== totalOf(counts)) t.fail(`${id}: ${sum} is not ${totalOf(counts)}`)
    }
    t.ok(sums > 200, `${sums} answers`)
  },
)
const numberOf = (counts: Fields, name: string): number => Number(counts[name] ?? 0)
const MESSAGE_COUNTS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
]
const sumOfMessage = (counts: Fields): number =>
  MESSAGE_COUNTS.reduce((total, name) => total + numberOf(counts, name), 0)
/** The counts beside the iterations omit those of a compaction and of helpers. */
const totalOf = (counts: Fields): number => {
  const { iterations } = counts
  if (Array.isArray(iterations))
    return iterations.reduce<number>((total, each) => total + sumOfMessage(each as Fields), 0)
  return (
    numberOf(counts, 'total_tokens') || numberOf(counts, 'totalTokenCount') || sumOfMessage(counts)
  )
}

t.test('counts: are whole numbers from 0, quantities may be fractions', async t => {
  for (const value of [0, 1, 2 ** 53 - 1]) t.ok(isCount(value), String(value))
  for (const value of [-1, 0.5, 2 ** 53, Number.NaN, '1', null, undefined])
    t.notOk(isCount(value), String(value))
  t.same([7, -1, 'x', null].map(count), [7, 0, 0, 0])
  t.same([0.5, 2, -0.5, 1e300, 'x'].map(quantity), [0.5, 2, 0, 0, 0])
})

t.test('gemini counts: one cached or one thinking token is named, none is not', async t => {
  t.match(countsOf({ input: 3, cached: 1, output: 2, thinking: 1 }), {
    promptTokenCount: 4,
    cachedContentTokenCount: 1,
    thoughtsTokenCount: 1,
    totalTokenCount: 7,
  })
  const none = countsOf({ input: 3, output: 2 })
  t.notOk('cachedContentTokenCount' in none)
  t.notOk('thoughtsTokenCount' in none)
})

t.test('format of a route: by its name, or that of an object', async t => {
  const chat = formats.get('openai-chat')
  t.equal(formatOf('openai-chat'), chat)
  t.equal(formatOf({ format: 'openai-chat' }), chat)
  for (const none of [undefined, null, 'none', { format: 'none' }, {}])
    t.equal(formatOf(none), undefined)
})

t.test('image events: the one that completes an image counts it', async t => {
  const { usage } = formats.get('openai-images') ?? {}
  const countsIn = (event: Fields) => usage?.inEvent?.(event as never)
  const completed = { type: 'image_generation.completed', usage: { output_tokens: 7 } }
  t.same(countsIn(completed), { output_tokens: 7, images: 1 })
  t.equal(countsIn({ type: 'image_generation.partial_image' }), undefined)
})
