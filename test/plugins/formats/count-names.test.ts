/** Totals of usage reports that compatible upstreams spell in their own ways. */
import t from 'tap'
import type { Fields } from '../../../plugins/formats/fields.ts'
import { formatOf } from '../../../plugins/formats/index.ts'
import { readReportedUsage } from '../../../plugins/formats/stream/reported-usage.ts'

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
const FORMATS = [
  'openai-chat',
  'openai-completions',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
  'google-interactions',
]
for (const name of FORMATS)
  t.test(`usage of ${name}: totals are read by every name that upstreams use`, async t => {
    const { usage } = formatOf(name) ?? {}
    if (!usage) throw new Error('the format counts no usage')
    for (const counts of REPORTS)
      t.match(
        readReportedUsage(usage, counts),
        { meters: { input: 10, output: 5 }, isInputReported: true, isOutputReported: true },
        Object.keys(counts).join(', '),
      )
    t.match(
      readReportedUsage(usage, { inputTokens: -1, outputTokens: 5 }),
      { isInputReported: false, isOutputReported: true },
      'an invalid total is not believed under another name',
    )
  })
t.test('usage of chat: its own names count before other ones', async t => {
  const { usage } = formatOf('openai-chat') ?? {}
  const counts = { prompt_tokens: 10, inputTokens: 99, outputTokens: 5 }
  t.same(usage?.meters(counts), { input: 10, output: 5 })
})
