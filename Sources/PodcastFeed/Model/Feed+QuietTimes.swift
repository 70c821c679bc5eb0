package import Platform

extension Feed {
    /// The hours and weekdays of `skipHours` and `skipDays`, for the refresh schedule.
    package var quietTimes: QuietTimes {
        let names = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        return QuietTimes(hours: Set(skipHours), days: Set(skipDays.compactMap(names.firstIndex)))
    }
}
