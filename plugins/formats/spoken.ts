/** Which wire formats a target speaks: those of its model, which may be fewer, or of its upstream. */
import type { Json, Target, UpstreamView } from '../../engine/plugin.ts'

/** None: it speaks whatever it is asked in. */
export const spokenBy = (
  { traits }: Pick<Target, 'traits'>,
  upstream: UpstreamView | undefined,
): readonly string[] => listOf(traits?.formats) ?? listOf(upstream?.options.formats) ?? []

export const speaks = (spoken: readonly string[], format: string): boolean =>
  spoken.length === 0 || spoken.includes(format)

const listOf = (given: Json | undefined): readonly string[] | undefined =>
  Array.isArray(given) ? (given as readonly string[]) : undefined
