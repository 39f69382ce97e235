/** The section `failed_calls:` of routes.yaml: how many failed calls are kept, and for how long. */
import {
  duration,
  object,
  orElse,
  type RawOf,
  rate,
  size,
  type ValueOf,
} from '../../engine/config/shape.ts'
import type { HostBase } from '../../engine/plugin.ts'

export const SECTION = object(
  'Calls that failed, for customers and operators: refused, failed at an upstream, or left by their client. They are rows of the database, written in the background.',
  {
    keep: orElse(
      duration('How long a failed call is kept; 7d by default.', {
        pattern: '^[1-9][0-9]{0,4}(m|h|d)$',
        examples: ['7d'],
      }),
      '7d',
    ),
    size: orElse(
      size('Bytes of all of them together; the oldest are removed. 64MiB by default.', {
        pattern: '^[1-9][0-9]{0,5}(KiB|MiB|GiB)$',
        examples: ['64MiB'],
      }),
      '64MiB',
    ),
    rate: orElse(
      rate(
        'How many each process keeps of one account; 60/min by default. Further ones are counted only, and the next one that is kept has their number.',
        { examples: ['60/min'] },
      ),
      '60/min',
    ),
  },
  { examples: [{ keep: '7d', size: '64MiB', rate: '60/min' }] },
)
export type FailedCallRules = ValueOf<typeof SECTION>

export const failedCallRules = ({ section }: Pick<HostBase, 'section'>): FailedCallRules =>
  SECTION.read(section<RawOf<typeof SECTION> | undefined>('failed_calls') ?? {})
