/** `host.gateway` of commands: the calls that only need the files. */
import { withCache } from '../../cli/command-cache.ts'
import { noGateway } from '../../config/compile/gateway.ts'
import { fileSource } from '../../config/read.ts'
import type { Gateway } from '../../plugin.ts'
import type { Resources } from '../../snapshot/resources.ts'
import type { Inspection } from '../messages.ts'

const NO_HISTORY = { last: undefined, list: () => [], find: () => undefined }

/** Calls that need a running gateway reject with NO_GATEWAY. `data`: the data folder. */
export const commandGateway = (
  config: string,
  data: string,
  resources: Resources,
): Omit<Gateway, 'routes'> => {
  const call = (inspection: Inspection): Promise<unknown> =>
    withCache(data, async cacheFolder => {
      // It loads the compiler, which most commands do not need.
      const { inspect } = await import('./inspect.ts')
      const files = { config, cacheFolder, resources, source: fileSource() }
      return inspect({ ...files, history: NO_HISTORY }, inspection)
    })
  const live = 0
  return {
    ...noGateway,
    check: (text, file) =>
      call({ name: 'check', text, file, live }) as ReturnType<Gateway['check']>,
    edit: edit => call({ name: 'edit', edit, live }) as ReturnType<Gateway['edit']>,
    save: (file, text, before) =>
      call({ name: 'save', file, text, before, live }) as ReturnType<Gateway['save']>,
  }
}
