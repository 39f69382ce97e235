/** Problems of the cache that no schema can see. */
import { isFields } from '../../engine/kit.ts'
import type { Document, Report } from '../../engine/plugin.ts'

export const checkSection = ({ cache, pipeline, models }: Document, report: Report): void => {
  const names = Object.entries(isFields(models) ? models : {}).flatMap(([name, options]) =>
    isFields(options) && options.cache !== undefined ? [name] : [],
  )
  if (isFields(cache) && names.length === 0)
    report(
      ['cache'],
      'CACHE_OPTION',
      'no model uses the cache: write `cache: exact` in an entry of `models:`',
    )
  if (Array.isArray(pipeline) && !pipeline.includes('cache'))
    for (const name of names)
      report(
        ['models', name, 'cache'],
        'CACHE_OPTION',
        'nothing is cached: `pipeline:` has no `cache`; add it behind `guard`',
      )
}
