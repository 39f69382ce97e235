/** The configuration of the part `stages`: a model or a route for each stage. */
import { NAMES } from '../answers.ts'
import { GUARDED_PATH, STAGE_MODELS } from './names.ts'

/** Stages behind `translate`, in the order of the shipped configuration. */
export const STAGES = ['guard', 'journal', 'mirror', 'cache'] as const

/** `price`: of each model; `chain`: options of a route; `receiver`: of telemetry. */
export const stageSections = (price: object, chain: object, receiver?: string) => {
  const target = { to: `up/${NAMES.plain}`, ...price }
  const { journal, cache, rules, mirror } = STAGE_MODELS
  return {
    sections: {
      guards: { pii: { find: ['email', 'card', 'iban', 'phone', 'ip', 'secret'], do: 'mask' } },
      // The answer is stored each time: `cache-control: no-cache`.
      cache: { exact: { any_temperature: true } },
      journal: {
        to: 'file:journal',
        share: '0%',
        rules: [{ models: [journal], share: '100%' }],
        consent: 'all',
      },
      ...(receiver !== undefined && { telemetry: { to: receiver, share: '100%' } }),
    },
    models: {
      [journal]: target,
      [cache]: { ...target, cache: 'exact' },
      [rules]: {
        ...target,
        rules: [
          { name: 'long', when: { prompt: '> 200k' }, to: target.to },
          { name: 'canary', share: '5%', to: target.to },
        ],
      },
      [mirror]: { ...target, mirror: { to: target.to, share: '1%', accounts: 'all' } },
    },
    routes: [{ path: `POST ${GUARDED_PATH}`, ...chain, guard: 'pii' }],
  }
}
