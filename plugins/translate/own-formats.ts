/** Checks the wire formats that plugins bring: their names, and the members that the gateway calls
 *  without a request to test them. */
import type { Document, HostBase, Report } from '../../engine/plugin.ts'
import { dialects } from '../dialects/index.ts'
import { isFields } from '../formats/fields.ts'

const TARGET_CODEC = ['encodePrompt', 'decodeAnswer', 'decodeStream', 'decodeError']
const CLIENT_CODEC = ['decodePrompt', 'encodeAnswer', 'encodeStream', 'settings']
const CLIENT_FACTS = ['about', 'endpoint', 'model', 'usage']

type Members = Readonly<Record<string, unknown>>
const membersOf = (value: unknown): Members => (isFields(value) ? (value as Members) : {})
const missingIn = (value: unknown, names: readonly string[]): readonly string[] =>
  names.filter(name => membersOf(value)[name] === undefined)

/** The missing member of a format; undefined: none. A format with a dialect is one for clients. */
const faultOf = (name: string, format: object): string | undefined => {
  const members = membersOf(format)
  if (members.name !== name) return `its member "name" must be "${name}"`
  const isClient = members.dialect !== undefined
  if (isClient && !Object.hasOwn(dialects, String(members.dialect)))
    return `its dialect must be one of ${Object.keys(dialects).join(', ')}`
  const missing = [
    ...missingIn(format, [...(isClient ? CLIENT_FACTS : ['codec']), 'stream']),
    ...missingIn(members.stream, ['error']).map(member => `stream.${member}`),
    ...(members.codec === undefined
      ? []
      : missingIn(members.codec, isClient ? [...TARGET_CODEC, ...CLIENT_CODEC] : TARGET_CODEC).map(
          member => `codec.${member}`,
        )),
  ]
  return missing.length === 0 ? undefined : `it lacks ${missing.join(', ')}`
}

export const checkFormats = (
  _: Document,
  report: Report,
  { formats }: Partial<Pick<HostBase, 'formats'>> = {},
): void => {
  for (const [name, format] of Object.entries(formats ?? {})) {
    const fault = faultOf(name, format)
    if (fault !== undefined)
      report(
        ['pipeline'],
        'FORMAT_SHAPE',
        `the format "${name}" of a plugin is not usable: ${fault} (plugins/formats/format.ts)`,
      )
  }
}
