/** Settings that OpenAI's formats have two names for: which of them a client wrote, and which of two values is lost. */
import type { Loss } from './codec.ts'
import type { Fields } from './fields.ts'
import type { Prompt, Settings } from './hub.ts'

/** Hub name -> the name that counts, and the one that stands in for it. */
export type Spellings = Readonly<
  Partial<Record<keyof Settings, readonly [first: string, second: string]>>
>

/** For the hub: what its client called these. Of two values one is carried; the other is told to `loss`. */
export const calledIn = (
  body: Fields,
  spellings: Spellings,
  loss: Loss,
): Required<Pick<Prompt, 'called'>> => {
  const called: { [name: string]: string } = {}
  for (const [name, [first, second]] of Object.entries(spellings)) {
    const one = body[first] ?? undefined
    const other = body[second] ?? undefined
    if (one !== undefined) called[name] = first
    else if (other !== undefined) called[name] = second
    if (one !== undefined && other !== undefined && one !== other) loss.drop(second)
  }
  return { called }
}
