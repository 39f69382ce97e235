/** What targets that embed say they speak, by what routes and upstreams call these formats. */
import { entryOf } from './fields.ts'

/** What lists of models call their endpoints. */
export const EMBEDDINGS = 'embeddings'

const SPOKEN = { openai: 'openai-embeddings', google: 'google-embeddings' } as const
export type EmbeddingName = keyof typeof SPOKEN

export const embeddingNames = Object.keys(SPOKEN) as readonly EmbeddingName[]
export const embeddingFormats: readonly string[] = Object.values(SPOKEN)

/** Which of these formats a target is asked in: the first that it speaks, or, where it speaks whatever it is asked in, `usual`.
 *  None: it embeds nothing. */
export const embeddingOf = (
  spoken: readonly string[],
  usual: EmbeddingName = 'openai',
): EmbeddingName | undefined =>
  spoken.length === 0 ? usual : embeddingNames.find(name => spoken.includes(SPOKEN[name]))

/** By what the option of a route or an upstream says. */
export const embeddingNamed = (name: string): EmbeddingName | undefined =>
  entryOf(SPOKEN, name) && (name as EmbeddingName)
