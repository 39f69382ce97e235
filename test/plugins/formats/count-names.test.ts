/** Every reader of usage reports knows the names that compatible upstreams use in them. */
import t, { type Test } from 'tap'
import { google } from '../../../plugins/embeddings/google.ts'
import { openai } from '../../../plugins/embeddings/openai.ts'
import { bedrockConverse } from '../../../plugins/formats/bedrock-converse/index.ts'
import { cohereChat } from '../../../plugins/formats/cohere-chat/index.ts'
import type { Fields } from '../../../plugins/formats/fields.ts'
import type { UsageFacts } from '../../../plugins/formats/format.ts'
import { formatOf, formats } from '../../../plugins/formats/index.ts'
import { hostedUsage } from '../../../plugins/formats/openai-responses/hosted-tools.ts'
import { readReportedUsage } from '../../../plugins/formats/stream/reported-usage.ts'
import type { Meters } from '../../../plugins/slots.ts'

const REPORTS: readonly Fields[] = [
  { prompt_tokens: 10, completion_tokens: 5 },
  { input_tokens: 10, output_tokens: 5 },
  { promptTokens: 10, completionTokens: 5 },
  { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  { total_input_tokens: 10, total_output_tokens: 5, total_tokens: 15 },
  { prompt_token_count: 10, candidates_token_count: 5, total_token_count: 15 },
  { promptTokenCount: 10, candidatesTokenCount: 5 },
  { inputTokenCount: 10, outputTokenCount: 5 },
  { input_token_count: 10, generated_token_count: 5 },
]
/** Formats without a count of text in their answers. */
const OTHER_COUNTS: Readonly<Record<string, Meters>> = {
  'openai-moderations': { input: 10 },
  'openai-speech': { input: 10, audio_output: 5 },
  'openai-transcription': { audio_input: 10, output: 5 },
}
/** All tokens of a reranking are input: its total counts. */
const hasOutput = (name: string): boolean => name !== 'cohere-rerank'
const usageOf = (name: string): UsageFacts => {
  const targets: Readonly<Record<string, { readonly usage?: UsageFacts }>> = {
    'bedrock-converse': bedrockConverse,
    'cohere-chat': cohereChat,
  }
  const { usage } = formatOf(name) ?? targets[name] ?? {}
  if (!usage) throw new Error('the format counts no usage')
  return usage
}
const checkMeters = (t: Test, name: string, counts: Fields, meters: Meters): void => {
  t.same(readReportedUsage(usageOf(name), counts).meters, meters, JSON.stringify(counts))
}

for (const name of [...formats.keys(), 'bedrock-converse', 'cohere-chat'].filter(hasOutput))
  t.test(`usage of ${name}: totals are read by every name that upstreams use`, async t => {
    const usage = usageOf(name)
    for (const counts of REPORTS)
      checkMeters(t, name, counts, OTHER_COUNTS[name] ?? { input: 10, output: 5 })
    if (usage.text)
      t.match(
        readReportedUsage(usage, { inputTokens: -1, outputTokens: 5 }),
        { isInputReported: false, isOutputReported: true },
        'an invalid total is not believed under another name',
      )
  })
t.test('usage of chat: its own names count before other ones', async t => {
  const { usage } = formatOf('openai-chat') ?? {}
  const counts = { prompt_tokens: 10, inputTokens: 99, outputTokens: 5 }
  if (!usage) throw new Error('chat counts its usage')
  t.same(readReportedUsage(usage, counts).meters, { input: 10, output: 5 })
  const details = { promptTokensDetails: { cachedTokens: 9 }, prompt_tokens_details: null }
  const { meters } = readReportedUsage(usage, { ...counts, ...details })
  t.same(meters, { input: 1, cached: 9, output: 5 })
})

/** Reports of Oracle's Generative AI, of mlx-vlm and of Amazon's models have their parts inside
 *  details. */
const PARTS: readonly (readonly [name: string, report: Fields, meters: Meters])[] = [
  ...['openai-chat', 'openai-completions', 'openai-responses'].flatMap(name =>
    [
      {
        promptTokens: 10,
        completionTokens: 5,
        promptTokensDetails: { cachedTokens: 4 },
        completionTokensDetails: { reasoningTokens: 2 },
      },
      {
        inputTokens: 10,
        outputTokens: 5,
        inputTokensDetails: { cachedTokens: 4 },
        outputTokensDetails: { reasoningTokens: 2 },
      },
      {
        input_tokens: 10,
        output_tokens: 5,
        input_tokens_details: { cached_tokens: 4 },
        output_token_details: { reasoning_tokens: 2 },
      },
    ].map(report => [name, report, { input: 6, cached: 4, output: 3, thinking: 2 }] as const),
  ),
  [
    'openai-chat',
    {
      promptTokens: 10,
      completionTokens: 5,
      promptTokensDetails: {
        cachedTokens: 4,
        cachedTokensDetails: { audioTokens: 3 },
        cacheWriteTokens: 2,
      },
      completionTokensDetails: { audioTokens: 1, imageTokens: 2 },
      serverToolUse: { webSearchRequests: 2 },
    },
    {
      input: 4,
      cached: 1,
      cached_audio: 3,
      cache_write: 2,
      output: 2,
      audio_output: 1,
      image_output: 2,
      web_search: 2,
    },
  ],
  [
    'anthropic-messages',
    {
      inputTokens: 10,
      outputTokens: 5,
      cacheReadInputTokenCount: 3,
      cacheCreation: { ephemeral5mInputTokens: 1, ephemeral1hInputTokens: 2 },
      outputTokensDetails: { thinkingTokens: 2 },
      serverToolUse: { webSearchRequests: 1 },
    },
    {
      input: 10,
      cached: 3,
      cache_write: 1,
      cache_write_1h: 2,
      output: 3,
      thinking: 2,
      web_search: 1,
    },
  ],
  [
    'anthropic-messages',
    { input_tokens: 1, output_tokens: 1, iterations: [{ inputTokens: 10, outputTokens: 5 }] },
    { input: 10, output: 5 },
  ],
  [
    'google-gemini',
    {
      prompt_token_count: 10,
      candidates_token_count: 5,
      cached_content_token_count: 4,
      thoughts_token_count: 2,
      candidates_tokens_details: [{ modality: 'IMAGE', token_count: 3 }],
    },
    { input: 6, cached: 4, output: 2, image_output: 3, thinking: 2 },
  ],
  [
    'google-interactions',
    {
      totalInputTokens: 10,
      totalOutputTokens: 5,
      totalThoughtTokens: 2,
      outputTokensByModality: [{ modality: 'audio', tokens: 3 }],
    },
    { input: 10, output: 2, audio_output: 3, thinking: 2 },
  ],
  [
    'bedrock-converse',
    {
      input_tokens: 10,
      output_tokens: 5,
      cache_read_input_tokens: 3,
      cacheWriteInputTokenCount: 2,
      cache_details: [{ ttl: '1h', input_tokens: 2 }],
    },
    { input: 10, cached: 3, cache_write_1h: 2, output: 5 },
  ],
  [
    'openai-images',
    {
      promptTokens: 10,
      completionTokens: 5,
      promptTokensDetails: { imageTokens: 4 },
      completionTokensDetails: { imageTokens: 5 },
      images: 1,
    },
    { images: 1, input: 6, image_input: 4, image_output: 5 },
  ],
  [
    'openai-transcription',
    { promptTokens: 10, completionTokens: 5, promptTokensDetails: { audioTokens: 7 } },
    { input: 3, audio_input: 7, output: 5 },
  ],
  ['cohere-rerank', { billedUnits: { searchUnits: 2 } }, { search_units: 2 }],
  ['cohere-rerank', { billed_units: { rerank_units: 2 } }, { search_units: 2 }],
  ['cohere-rerank', { billed_units: { prompt_token_count: 9 } }, { input: 9 }],
  ['cohere-rerank', { tokens: { total_input_tokens: 9 } }, { input: 9 }],
  ['openai-transcription', { prompt_audio_seconds: 9 }, { seconds: 9 }],
  ['openai-transcription', { promptAudioSeconds: 9 }, { seconds: 9 }],
]
t.test('usage: parts inside of details are read by every name', async t => {
  for (const [name, report, meters] of PARTS) checkMeters(t, name, report, meters)
})
t.test('usage: a report in its own names is not copied', async t => {
  const report = {
    prompt_tokens: 1,
    completion_tokens: 1,
    prompt_tokens_details: { cached_tokens: 1 },
  }
  t.equal(formatOf('openai-chat')?.usage.ownNames?.(report), report)
})

t.test('usage of embeddings: tokens are read by every name', async t => {
  for (const report of [...REPORTS, { totalTokens: 10 }]) {
    t.same(openai.readAnswer({ data: [], usage: report }).meters, { input: 10 })
    const answer = { embeddings: [], usageMetadata: report }
    t.same(google.readAnswer(answer).meters, { input: 10 })
  }
  const usage = { promptTokens: 10, promptTokensDetails: { imageTokens: 4 } }
  t.same(openai.readAnswer({ data: [], usage }).meters, { input: 6, image_input: 4 })
})
t.test('usage of reranking: tokens beside the results are read by every name', async t => {
  for (const report of REPORTS) {
    const estimate = usageOf('cohere-rerank').estimate?.({ query: 'q' }, new Map(), '')
    estimate?.observe(Buffer.from(JSON.stringify({ results: [], usage: report })))
    const input = Object.keys(report).length > 2 ? 15 : 10
    t.match(estimate?.usage(undefined, true), { meters: { input }, estimated: false })
  }
})
t.test('usage of tools: tokens of images are read by every name', async t => {
  const hosted = hostedUsage.begin({})
  hosted.observe({ output: [], tool_usage: { image_gen: { inputTokens: 10, outputTokens: 5 } } })
  t.same(hosted.meters, { image_generation_input: 10, image_generation_output: 5 })
})

t.test('usage names: a report with its own names is the same object', async t => {
  const usage = usageOf('openai-chat')
  const counts = {
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 1, audio_tokens: null },
    parts: [{ text_tokens: 1 }, 2],
  }
  t.equal(usage.ownNames?.(counts), counts)
  t.equal(usage.ownNames?.(counts), counts)
})
t.test('usage names: after names without end, the usual ones are still read', async t => {
  const usage = usageOf('openai-chat')
  for (let index = 0; index < 1_000; index++)
    t.same(Object.keys(usage.ownNames?.({ [`aB${index}c`]: 1 }) ?? {}).length, 2)
  checkMeters(t, 'openai-chat', { inputTokens: 10, outputTokens: 5 }, { input: 10, output: 5 })
  const details = { promptTokensDetails: { cachedTokens: 4 } }
  checkMeters(t, 'openai-chat', { inputTokens: 10, ...details }, { input: 6, cached: 4 })
})
t.test('usage of moderations: of two names, the one that is not 0 counts', async t => {
  checkMeters(t, 'openai-moderations', { prompt_tokens: 0, input_tokens: 12 }, { input: 12 })
  checkMeters(t, 'openai-moderations', { prompt_tokens: 3, input_tokens: 12 }, { input: 3 })
})
