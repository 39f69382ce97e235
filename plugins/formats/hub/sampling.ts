/** Settings that some models refuse, by the trait `sampling: false`. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import type { DroppedFields, TargetFacts } from './codec.ts'
import type { Settings } from './prompt.ts'

type Name = keyof Settings
/** Values that ask for what happens anyway are not reported. */
const NEUTRAL: Readonly<Partial<Record<Name, Json>>> = {
  temperature: 1,
  topP: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logprobs: false,
  alternatives: 0,
}
/** Settings that a model with thinking of its own refuses at every provider. */
export const SAMPLING: readonly Name[] = [
  'temperature',
  'topP',
  'topK',
  'frequencyPenalty',
  'presencePenalty',
  'logprobs',
  'alternatives',
]

/** The settings without these names, if the model refuses them. */
export const withoutSampling = (
  settings: Settings,
  names: readonly Name[],
  { traits }: Pick<TargetFacts, 'traits'>,
  dropped: DroppedFields,
): Settings => {
  if (traits.sampling !== false) return settings
  const result: { [name: string]: unknown } = { ...settings }
  for (const name of names) {
    if (result[name] !== undefined && result[name] !== NEUTRAL[name]) dropped.add(name)
    delete result[name]
  }
  return result
}
