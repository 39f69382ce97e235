/** Media, results and other parts of scenarios, for requests of each format. */
import type { LooseObject } from '../../helpers/formats/loose-json.ts'
import type { CallStep, Media } from '../scenarios.ts'

export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PDF = Buffer.from('%PDF-1.4\n%%EOF').toString('base64')
export const TYPES: Readonly<Record<Media, string>> = {
  png: 'image/png',
  jpg: 'image/jpg',
  gif: 'image/gif',
  url: 'https://example.com/a.png',
  'http-url': 'http://example.com/a.png',
  pdf: 'application/pdf',
  'pdf-url': 'https://example.com/a.pdf',
  'text-file': 'text/plain',
}
export const SIGNATURE = Buffer.from('a signature of the provider').toString('base64')
export const CACHE = { type: 'ephemeral' }
export const FORM = {
  type: 'object',
  properties: { answer: { type: 'string' }, sure: { type: 'boolean' } },
  required: ['answer', 'sure'],
  additionalProperties: false,
}
export const bytesOf = (media: Media): string => (media === 'pdf' ? PDF : PNG)
export const dataUrl = (media: Media): string =>
  `data:${TYPES[media]};base64,${media === 'pdf' ? PDF : PNG}`
export const isFile = (media: Media): boolean => /pdf|file/.test(media)
export const isUrl = (media: Media): boolean => media.endsWith('url')
export const withoutUndefined = (members: LooseObject): LooseObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
/** The text of a result in formats with texts only. */
export const resultText = ({ result }: CallStep): string =>
  ({ object: '{"degrees":20}', empty: '', failed: 'no such city', 'failed image': 'no such city' })[
    result as string
  ] ?? 'sunny'
export const hasImage = ({ result }: CallStep): boolean => /image/.test(result)
