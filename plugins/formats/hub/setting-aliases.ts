/** Settings with two names in OpenAI's formats: records which name the client used, and which of
 *  two values is dropped. */
import type { Fields } from '../fields.ts'
import type { DroppedFields } from './codec.ts'
import type { Prompt, Settings } from './prompt.ts'

/** Hub name -> the preferred name and its alias. */
export type SettingAliases = Readonly<
  Partial<Record<keyof Settings, readonly [first: string, second: string]>>
>

/** Maps the hub names of these settings to the client's names. If the client sent two different
 *  values, the alias is reported to `dropped`. */
export const clientNamesIn = (
  body: Fields,
  aliases: SettingAliases,
  dropped: DroppedFields,
): Required<Pick<Prompt, 'clientNames'>> => {
  const names: { [setting: string]: string } = {}
  for (const [name, [first, second]] of Object.entries(aliases)) {
    const preferredValue = body[first] ?? undefined
    const aliasValue = body[second] ?? undefined
    if (preferredValue !== undefined) names[name] = first
    else if (aliasValue !== undefined) names[name] = second
    if (preferredValue !== undefined && aliasValue !== undefined && preferredValue !== aliasValue)
      dropped.add(second)
  }
  return { clientNames: names }
}
