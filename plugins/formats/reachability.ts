/** Decides whether a route's client format can be served by a target. Routing and model lists share
 *  this rule. */

import type { Format, TargetFormat } from './format.ts'
import type { Codec } from './hub/codec.ts'
import { targetFormats } from './index.ts'
import { supportsFormat } from './supported-formats.ts'

/** Clients of an image endpoint need targets that generate images. */
export const reachableFormats = ({ imageGeneration }: Codec): readonly TargetFormat[] =>
  [...targetFormats.values()].filter(({ codec }) => !imageGeneration || codec.imageGeneration)

export const canReach = ({ name, codec }: Format, formatNames: readonly string[]): boolean =>
  supportsFormat(formatNames, name) ||
  (codec !== undefined && reachableFormats(codec).some(target => formatNames.includes(target.name)))
