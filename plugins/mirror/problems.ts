/** Problems of `mirror:` of models that no schema can see. */
import { nearest } from '../../engine/config/nearest.ts'
import { isFields } from '../../engine/kit.ts'
import type { Document, Report } from '../../engine/plugin.ts'
import { compileCurrency } from '../billing/currency.ts'
import { compileRule } from '../billing/rule.ts'
import type { BillingOptions } from '../billing/schema.ts'

export const checkModels = (document: Document, report: Report): void => {
  const { models, pipeline, upstreams, settings } = document
  const known = Object.keys(isFields(upstreams) ? upstreams : {})
  const currency = isFields(settings) ? settings.currency : undefined
  for (const [name, options] of Object.entries(isFields(models) ? models : {})) {
    if (!isFields(options) || !isFields(options.mirror)) continue
    const { to, price } = options.mirror
    const where = ['models', name, 'mirror']
    if (Array.isArray(pipeline) && !pipeline.includes('mirror')) {
      const message = 'nothing is copied: `pipeline:` has no `mirror`; add it behind `guard`'
      report(where, 'MIRROR_OPTION', message)
    }
    const upstream = String(to).split('/', 1)[0] ?? ''
    if (!known.includes(upstream)) {
      const message = `no upstream is named "${upstream}"`
      report([...where, 'to'], 'MIRROR_OPTION', message, nearest(upstream, known))
    }
    if (price === undefined) continue
    compileRule({ price } as BillingOptions, {
      currency: compileCurrency(currency, [], () => {}),
      where,
      report,
    })
  }
}
