/** Whether the upstreams of a model, as they are written, satisfy what a route demands. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Document, Json } from '../../engine/plugin.ts'
import { describeUnmet, type Place } from '../zones/rule.ts'

/** The demand that no target of the model satisfies; undefined: one does, or the model is
 *  unknown. */
export const unmetByModel = (
  demand: Place,
  model: string,
  { models, upstreams }: Document,
): string | undefined => {
  const options = isFields(models) ? models[model] : undefined
  if (!isFields(options) || !isFields(upstreams)) return undefined
  const unmet = upstreamsIn(options.to).map(name => {
    const upstream = upstreams[name]
    if (!isFields(upstream)) return undefined
    const zones = [upstream.zone ?? []].flat().map(String)
    return describeUnmet(demand, { zones, retention: upstream.retention })
  })
  return unmet.every(each => each !== undefined) ? unmet[0] : undefined
}
/** Of the targets of a model: texts, or objects with `to`. */
const upstreamsIn = (to: Json | undefined): readonly string[] =>
  [to ?? []].flat().map(each => String(isFields(each) ? each.to : each).split('/', 1)[0] ?? '')
