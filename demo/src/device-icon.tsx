import type { DeviceName } from './page-options.ts'

export function DeviceIcon({ name }: { readonly name: DeviceName }) {
  return (
    <svg className="device-icon" viewBox="0 0 24 24" aria-hidden="true">
      {name === 'laptop' ? (
        <path d="M5 5h14v10H5zM2.5 19h19" />
      ) : (
        <path d="M8 2.5h8a1.5 1.5 0 0 1 1.5 1.5v16a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 0 1 6.5 20V4A1.5 1.5 0 0 1 8 2.5zM11 18.5h2" />
      )}
    </svg>
  )
}
