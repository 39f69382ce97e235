/** Names of the totals in usage reports. Compatible upstreams spell them in their own ways: mlx-vlm
 *  and vLLM `input_tokens`, the AI SDK and LangChain `inputTokens` or `promptTokens`, Vertex AI's
 *  Python library `prompt_token_count`, watsonx `generated_token_count`. Pure. */
import { type Fields, isCount } from '../fields.ts'

/** Spellings without case and underscores. */
const TOTALS = {
  input: [
    'prompttokens',
    'inputtokens',
    'totalinputtokens',
    'totalprompttokens',
    'prompttokencount',
    'inputtokencount',
  ],
  output: [
    'completiontokens',
    'outputtokens',
    'totaloutputtokens',
    'totalcompletiontokens',
    'completiontokencount',
    'outputtokencount',
    'candidatestokencount',
    'generatedtokens',
    'generatedtokencount',
  ],
} as const
const spellingOf = (name: string): string => name.replaceAll('_', '').toLowerCase()

/** The names of a format. */
interface CountNames {
  readonly input: string
  readonly output: string
  /** Members that hold parts of the totals, which only case and underscores may change. */
  readonly parts: readonly string[]
}

/** The counts by a format's own names, if a total has another one. A member that has its own name
 *  is not replaced. */
export const withOwnNames =
  ({ input, output, parts }: CountNames) =>
  (counts: Fields): Fields => {
    if (isCount(counts[input]) && isCount(counts[output])) return counts
    const renamed: { [name: string]: Fields[string] } = { ...counts }
    for (const key in counts) {
      const spelling = spellingOf(key)
      const own = TOTALS.input.some(each => each === spelling)
        ? input
        : TOTALS.output.some(each => each === spelling)
          ? output
          : parts.find(each => spellingOf(each) === spelling)
      const value = counts[key]
      if (own !== undefined && value !== undefined && (renamed[own] ?? null) === null)
        renamed[own] = value
    }
    return renamed
  }
