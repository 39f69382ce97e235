/** Reads JSON of other programs by its expected types; a value of another type reads as empty. For
 *  tests that read answers without the gateway's code. */
export type LooseObject = Record<string, unknown>

export const asList = (value: unknown): readonly LooseObject[] =>
  Array.isArray(value) ? (value as LooseObject[]) : []
export const asObject = (value: unknown): LooseObject =>
  (value && typeof value === 'object' ? value : {}) as LooseObject
export const asNumber = (value: unknown): number => (typeof value === 'number' ? value : 0)
export const asString = (value: unknown): string => (typeof value === 'string' ? value : '')
export const parseLoose = (text: string): unknown => {
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch {
    return text
  }
}
/** Parses the data of every event. */
export const eventBodies = (body: string): readonly LooseObject[] =>
  body
    .split(/\r?\n\r?\n/)
    .map(block =>
      block
        .split(/\r?\n/)
        .filter(line => line.startsWith('data:'))
        .map(line => line.slice(5).trimStart())
        .join('\n'),
    )
    .filter(text => text.startsWith('{'))
    .map(text => JSON.parse(text) as LooseObject)
