/** Encodes cache breakpoints: a block of its own after the content that is cached. */
import type { Fields } from '../fields.ts'
import { dropCache, lastsLong } from '../hub/cache-hint.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Cache } from '../hub/content.ts'

/** Models without prompt caching refuse such blocks: see the trait `cache_points`. */
export const writeCachePoint = (
  cache: Cache | undefined,
  { traits }: Pick<TargetFacts, 'traits'>,
  dropped: DroppedFields,
): readonly Fields[] => {
  if (!cache) return []
  if (traits.cache_points === false) {
    dropCache(cache, dropped)
    return []
  }
  return [{ cachePoint: { type: 'default', ...(lastsLong(cache) && { ttl: '1h' }) } }]
}
