/** A plugin that keeps the usage of each call in the place of a ledger. */
import { eventually } from './primary.ts'

interface RecordedUsage {
  readonly meters: object
  readonly estimated: boolean
}
const SLOTS = new URL('../../../plugins/slots.ts', import.meta.url).pathname
let count = 0

/** `file` is the source of the plugin, for a gateway in this process. */
export const createUsageRecorder = () => {
  const name = `recordedUsages${++count}`
  const usages: RecordedUsage[] = []
  Object.assign(globalThis, { [name]: usages })
  return {
    file: `import { METERED } from '${SLOTS}'
export default {
  schema: { type: 'object', description: 'x', examples: [{}] },
  default: {},
  setup: () => ({
    handle(exchange, next) {
      exchange.slots.set(METERED, { has: () => true })
      exchange.onEnd(() => globalThis.${name}.push(exchange.slots.get({ name: 'usage' })))
      return next()
    },
  }),
}`,
    clear: () => {
      usages.length = 0
    },
    /** The usage of the next call, which is known after its last byte. */
    next: () => eventually(() => usages.pop()),
  }
}
