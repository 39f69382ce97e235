/** Whether a way leads from what the clients of a route speak to a target: one rule, for whoever sends and for whoever lists. */
import type { Codec } from './codec.ts'
import type { Format, TargetFormat } from './format.ts'
import { targetFormats } from './index.ts'
import { speaks } from './spoken.ts'

/** Whoever asks for images alone is served by targets that draw. */
export const reachable = ({ drawing }: Codec): readonly TargetFormat[] =>
  [...targetFormats.values()].filter(({ codec }) => !drawing || codec.drawing)

export const reaches = ({ name, codec }: Format, spoken: readonly string[]): boolean =>
  speaks(spoken, name) ||
  (codec !== undefined && reachable(codec).some(target => spoken.includes(target.name)))
