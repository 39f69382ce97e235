/** Decides whether a route's client format can be served by a target. Routing and model lists share
 *  this rule. */
import type { HostBase } from '../../engine/plugin.ts'
import type { Format, TargetFormat } from './format.ts'
import type { Codec } from './hub/codec.ts'
import { formatsOf, targetFormats } from './index.ts'
import { supportsFormat } from './supported-formats.ts'

/** The shipped target formats and those that plugins bring. */
export const targetFormatsOf = (
  host: Partial<Pick<HostBase, 'formats'>>,
): ReadonlyMap<string, TargetFormat> => formatsOf(host).targets

/** Clients of an image endpoint need targets that generate images. */
export const reachableFormats = (
  { imageGeneration }: Codec,
  targets: ReadonlyMap<string, TargetFormat> = targetFormats,
): readonly TargetFormat[] => [...targets.values()].filter(target => suits(imageGeneration, target))
const suits = (imageGeneration: Codec['imageGeneration'], { codec }: TargetFormat): boolean =>
  !imageGeneration || codec.imageGeneration !== undefined

export const canReach = (
  { name, codec }: Format,
  formatNames: readonly string[],
  targets: ReadonlyMap<string, TargetFormat> = targetFormats,
): boolean =>
  supportsFormat(formatNames, name) ||
  (codec !== undefined &&
    formatNames.some(each => {
      const target = targets.get(each)
      return target !== undefined && suits(codec.imageGeneration, target)
    }))
