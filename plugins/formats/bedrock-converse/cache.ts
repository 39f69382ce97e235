/** Encodes cache breakpoints: a block of its own after the content that is cached. */
import type { Fields } from '../fields.ts'
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
    dropped.add('cache_control')
    return []
  }
  return [{ cachePoint: { type: 'default', ...(cache.ttl === '1h' && { ttl: cache.ttl }) } }]
}
