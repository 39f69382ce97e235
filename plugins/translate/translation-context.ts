/** What a route's translators share, and the formats that can be translated. */
import type { Log } from '../../engine/plugin.ts'
import type { MediaHost } from '../conversion/media-fetch.ts'
import type { Format } from '../formats/format.ts'
import type { AutoCache } from '../formats/hub/auto-cache.ts'
import type { Codec } from '../formats/hub/codec.ts'
import type { ImageLinks } from './image-links.ts'
import type { ThoughtCache } from './thought-cache.ts'

/** A format that can be translated: it has a codec. */
export type TranslatableFormat = Format & { readonly codec: Codec }
export const isTranslatable = (format: Format | undefined): format is TranslatableFormat =>
  format?.codec !== undefined

export interface TranslationContext {
  readonly log: Log
  readonly host: MediaHost
  /** Absent where no route serves signed URLs. */
  readonly imageLinks?: ImageLinks | undefined
  readonly thoughts: ThoughtCache
  /** Whether the route refuses requests with fields that a target cannot carry. */
  readonly strict: boolean
  /** Cache breakpoints for requests without any; of models that do not say it themselves. */
  readonly autoCache?: AutoCache | undefined
  /** Upstream -> kinds of media that the gateway fetches for it. */
  readonly fetches: ReadonlyMap<string, readonly string[]>
  /** Upstream -> largest file that is uploaded to it, bytes. */
  readonly uploads?: ReadonlyMap<string, number>
}
