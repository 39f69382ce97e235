/** The section `console:` of routes.yaml. */
import {
  duration,
  flag,
  object,
  orElse,
  type RawOf,
  text,
  type ValueOf,
} from '../../engine/config/shape.ts'
import type { HostBase } from '../../engine/plugin.ts'

export const SECTION = object(
  'The console at /console.',
  {
    session: orElse(
      duration('How long a session lasts; 7d by default.', {
        maxLength: 6,
        examples: ['12h'],
        pattern: '^[1-9][0-9]{0,4}[mhd]$',
      }),
      '7d',
    ),
    admin: orElse(
      flag(
        'Whether /api/admin/* and the pages of operators are served to accounts with the role admin; true by default. The admin listener always serves them.',
        { examples: [false] },
      ),
      true,
    ),
    traces: text(
      'The address of a trace in the tool that shows traces; {trace} is its id. The story of a request links it.',
      {
        pattern: '^https?://[^\\s]*\\{trace\\}[^\\s]*$',
        examples: ['https://jaeger.example.com/trace/{trace}'],
      },
    ),
    edit: flag(
      'Whether operators may change the configuration in the console, in the editor and in forms. By default they may if the gateway listens on loopback only, without another public_url.',
      { examples: [true] },
    ),
  },
  { examples: [{ session: '12h', admin: false }] },
)

/** Whether operators may change files of the configuration over HTTP. */
export const mayEdit = (host: Pick<HostBase, 'section' | 'isLocal'>): boolean =>
  consoleSettings(host).edit ?? host.isLocal()

/** ms until a session ends, and what the public listener serves. */
export const consoleSettings = ({ section }: Pick<HostBase, 'section'>): ValueOf<typeof SECTION> =>
  SECTION.read(section<RawOf<typeof SECTION>>('console'))
