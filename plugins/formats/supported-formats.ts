/** The wire formats that a target supports: those of its model, or else those of its upstream. */
import type { Json, Target, UpstreamView } from '../../engine/plugin.ts'

/** An empty list: the target accepts any format. */
export const supportedFormats = (
  { traits }: Pick<Target, 'traits'>,
  upstream: UpstreamView | undefined,
): readonly string[] => listOf(traits?.formats) ?? listOf(upstream?.options.formats) ?? []

export const supportsFormat = (formatNames: readonly string[], format: string): boolean =>
  formatNames.length === 0 || formatNames.includes(format)

const listOf = (value: Json | undefined): readonly string[] | undefined =>
  Array.isArray(value) ? (value as readonly string[]) : undefined
