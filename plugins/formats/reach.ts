/** Decides whether a route's client format can be served by a target. Routing and model lists share
 *  this rule. */
import type { Codec } from './codec.ts'
import type { Format, TargetFormat } from './format.ts'
import { targetFormats } from './index.ts'
import { speaks } from './spoken.ts'

/** Clients of an image endpoint need targets that generate images. */
export const reachable = ({ drawing }: Codec): readonly TargetFormat[] =>
  [...targetFormats.values()].filter(({ codec }) => !drawing || codec.drawing)

export const reaches = ({ name, codec }: Format, supported: readonly string[]): boolean =>
  speaks(supported, name) ||
  (codec !== undefined && reachable(codec).some(target => supported.includes(target.name)))
