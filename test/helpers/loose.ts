/** JSON that others wrote, taken for what it should be: anything else is as if it were empty. For tests that read answers without
 *  our own code. */
export type Any = Record<string, unknown>

export const list = (value: unknown): readonly Any[] =>
  Array.isArray(value) ? (value as Any[]) : []
export const object = (value: unknown): Any =>
  (value && typeof value === 'object' ? value : {}) as Any
export const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
export const string = (value: unknown): string => (typeof value === 'string' ? value : '')
export const json = (text: string): unknown => {
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch {
    return text
  }
}
/** The JSON of every event. */
export const events = (body: string): readonly Any[] =>
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
    .map(text => JSON.parse(text) as Any)
