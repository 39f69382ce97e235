/** Names of the part `stages`: its subjects, and the models and the route of one stage each. */

/** A gateway without the stages, one with all of them and none in use, one with telemetry. */
export const WITHOUT = 'without'
export const OFF = 'off'
export const TELEMETRY = 'telemetry'

/** Subjects that are a model: the journal, a cache that asks the upstream, rules, a mirror. */
export const STAGE_MODELS = {
  journal: 'stage-journal',
  cache: 'stage-cache',
  rules: 'stage-rules',
  mirror: 'stage-mirror',
} as const
export const GUARDED_PATH = '/guarded/v1/chat/completions'
